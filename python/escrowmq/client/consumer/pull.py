"""What a consumer is made of that is asked for messages, whether by a function or by a coroutine function."""

import threading
import time
from collections.abc import Collection
from typing import Final

from escrowmq.client.connection import Client
from escrowmq.client.consumer.answering import Questions
from escrowmq.client.consumer.arrivals import Arrivals
from escrowmq.client.consumer.member import Member
from escrowmq.client.consumer.options import PullOptions
from escrowmq.client.consumer.process_queue import Batch, ProcessQueue
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.client.consumer.subscribing import subscription
from escrowmq.client.operation import Operation
from escrowmq.errors import NotThere
from escrowmq.model.message_queue import MessageQueue
from escrowmq.model.place import Place
from escrowmq.model.subscription import ALL_TAGS

_ONE_BY_ONE_MAX: Final = 32


class PullCore:
    """A member, and what it has handed out."""

    def __init__(self, client: Client, group: str, options: PullOptions) -> None:
        self.member = Member(
            client, group, options, consume_type="CONSUME_ACTIVELY", progress=self._progress, brings_subscription=True
        )
        self.member.arrived = lambda _queue, _count: self._arrivals.tell()
        self._client = client
        self._options = options
        self._arrivals = Arrivals()
        self._lock = threading.Lock()
        self._handed_out: list[Batch] = []
        self._committable: dict[MessageQueue, int] = {}
        self._turn = 0
        self._questions = Questions(self.member, runner=None, is_orderly=False)

    def subscribe(self, topic: str, tags: str, sql: str) -> None:
        """Notes what is wanted of a topic.

        Raises:
            ValueError: The name is none that a topic can have, or the expression none of tags.
        """
        self.member.wanted(subscription(topic, tags, sql, version=time.time_ns() // 1_000_000))

    def start(self) -> Operation[None]:
        """Begins to read what is subscribed to."""
        self._questions.register(self._client, self.member.reading.group)
        yield from self.member.join()

    def assign(self, queues: Collection[MessageQueue]) -> Operation[None]:
        """Reads these queues and no others, whatever other members read."""
        for topic in {queue.topic for queue in queues} - set(self.member.subscriptions):
            self.member.subscriptions[topic] = subscription(topic, ALL_TAGS, "", version=0)
        yield from self.member.hold(queues)

    def queues(self, topic: str) -> Operation[list[MessageQueue]]:
        """The queues of a topic that may be read.

        Raises:
            NotThere: There is no such topic.
        """
        route = yield from self._client.route(topic, fresh=True)
        return list(route.readable)

    def poll(self, *, timeout_s: float, count_max: int) -> Operation[list[ReceivedMessage]]:
        """The next messages; none if there are none in time. What was handed out before counts as done from now on."""
        self._finish_handed_out()
        if self._options.commits_by_itself:
            self._note_progress()
        until_s = time.monotonic() + timeout_s
        while True:
            seen = self._arrivals.count
            messages = self._take(count_max)
            left_s = until_s - time.monotonic()
            if messages or left_s <= 0:
                return messages
            yield from self._arrivals.next(seen, timeout_s=left_s)

    def commit(self) -> Operation[None]:
        """Stores how far the group is: behind all that was handed out."""
        self._finish_handed_out()
        self._note_progress()
        yield from self.member.persist()

    def seek(self, queue: MessageQueue, offset: int) -> None:
        """Goes on at an offset of a queue.

        Raises:
            NotThere: The queue is not this consumer's.
        """
        self.member.move(self._held(queue), offset, stores=False)

    def offset_of(self, queue: MessageQueue, place: Place) -> Operation[int]:
        """The offset of a place."""
        requests = self.member.reading.requests
        if place == "earliest":
            return (yield from requests.first_offset(queue))
        if place == "latest":
            return (yield from requests.last_offset(queue))
        return (yield from requests.offset_by_time(queue, int(place)))

    def committed(self, queue: MessageQueue) -> Operation[int | None]:
        """What the group reads next, as it is stored."""
        return self.member.reading.store.load(queue)

    @property
    def assignment(self) -> list[MessageQueue]:
        """The queues that it reads."""
        return self.member.assignment

    def position(self, queue: MessageQueue) -> int:
        """The offset that is handed out next.

        Raises:
            NotThere: The queue is not this consumer's.
        """
        return self._held(queue).offset_taken()

    def set_paused(self, queues: Collection[MessageQueue], *, is_paused: bool) -> None:
        """Hands out nothing of some queues for a while, or goes on.

        Raises:
            NotThere: A queue is not this consumer's.
        """
        for held in [self._held(queue) for queue in queues]:
            held.is_paused = is_paused
            self.member.puller.wake(held)
        self._arrivals.tell()

    def next_one_by_one(self, *, timeout_s: float) -> Operation[list[Batch]]:
        """The next messages, each to be finished by itself."""
        self._finish_handed_out()
        until_s = time.monotonic() + timeout_s
        while True:
            seen = self._arrivals.count
            batches = self._take_batches(_ONE_BY_ONE_MAX, size_max=1)
            left_s = until_s - time.monotonic()
            if batches or left_s <= 0:
                return batches
            yield from self._arrivals.next(seen, timeout_s=left_s)

    def finish(self, batch: Batch) -> None:
        """What was handed out is done."""
        batch.queue.finish(batch)
        self.member.puller.wake(batch.queue)
        if self._options.commits_by_itself:
            self._committable[batch.queue.queue] = batch.queue.offset_to_commit()

    def stop(self, *, finishes: bool) -> None:
        """Reads no more. What was handed out is done, or else comes again."""
        if finishes:
            self._finish_handed_out()
        if self._options.commits_by_itself:
            self._note_progress()
        self.member.stop()
        self._questions.unregister()
        self._arrivals.tell()

    def _held(self, queue: MessageQueue) -> ProcessQueue:
        held = self.member.reading.holdings.find(queue)
        if held is None:
            raise NotThere(f"queue {queue} is not read by this consumer", kind="queue", name=str(queue))
        return held

    def _take(self, count_max: int) -> list[ReceivedMessage]:
        batches = self._take_batches(count_max, size_max=count_max)
        with self._lock:
            self._handed_out += batches
        return [message for batch in batches for message in batch.messages]

    def _take_batches(self, count_max: int, *, size_max: int) -> list[Batch]:
        """What there is, of one queue after the other, beginning with another one each time."""
        queues = self.member.reading.holdings.all()
        self._turn += 1
        batches: list[Batch] = []
        left = count_max
        for index in range(len(queues)):
            queue = queues[(self._turn + index) % len(queues)]
            while left > 0 and not queue.is_paused and (batch := queue.take(min(size_max, left))) is not None:
                batches.append(batch)
                left -= len(batch.messages)
        return batches

    def _finish_handed_out(self) -> None:
        with self._lock:
            batches, self._handed_out = self._handed_out, []
        for batch in batches:
            batch.queue.finish(batch)
            self.member.puller.wake(batch.queue)

    def _note_progress(self) -> None:
        for queue in self.member.reading.holdings.all():
            self._committable[queue.queue] = queue.offset_to_commit()

    def _progress(self, queue: ProcessQueue) -> int | None:
        return self._committable.get(queue.queue)
