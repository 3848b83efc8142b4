"""Divides the queues of a group's topics anew: who is there, what is whose, what is lost and what is gained."""

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Final

from msgspec import Struct

from escrowmq.client.connection import Client
from escrowmq.client.consumer.allocation import allocate
from escrowmq.client.consumer.broker_requests import BrokerRequests
from escrowmq.client.consumer.holdings import Holdings
from escrowmq.client.consumer.offset_stores import OffsetStore
from escrowmq.client.consumer.offset_table import OffsetTable
from escrowmq.client.consumer.options import ConsumerOptions
from escrowmq.client.consumer.process_queue import ProcessQueue
from escrowmq.client.consumer.queue_locks import QueueLocks
from escrowmq.client.consumer.retry_rules import is_retry_topic
from escrowmq.client.consumer.start_place import Search, place_to_begin
from escrowmq.client.operation import Operation
from escrowmq.errors import EscrowError, NotThere
from escrowmq.model.message_queue import MessageQueue

_LOG: Final = logging.getLogger("escrowmq.client")


class Reading(Struct, frozen=True):
    """What a member reads by: the parts that its rooms share."""

    client: Client
    group: str
    options: ConsumerOptions
    requests: BrokerRequests
    store: OffsetStore
    offsets: OffsetTable
    holdings: Holdings
    progress: Callable[[ProcessQueue], int | None]
    """How far the group is in a queue, to be stored; None where there is nothing to say."""
    locks: QueueLocks | None = None
    """Where messages are handled in order."""


class Rebalancer:
    """Rounds of one member. No two run at a time."""

    def __init__(
        self,
        reading: Reading,
        *,
        topics: Callable[[], Sequence[str]],
        started_ms: int,
        gained: Callable[[ProcessQueue], None],
    ) -> None:
        self._reading = reading
        self._topics = topics
        self._started_ms = started_ms
        self._gained = gained
        self._is_first_round = True

    def round(self) -> Operation[bool]:
        """Looks at every topic; whether all is as it should be."""
        is_balanced = True
        for topic in self._topics():
            try:
                is_balanced &= yield from self._divide(topic)
            except NotThere:
                # The retry topic comes with the first heartbeat that a broker gets, others when somebody sends.
                is_balanced &= not is_retry_topic(topic)
            except EscrowError as error:
                _LOG.warning("queues can't be divided: group %s, topic %s, error %s", self._reading.group, topic, error)
                is_balanced = False
        self._is_first_round = False
        return is_balanced

    def hold(self, wanted: Collection[MessageQueue]) -> Operation[None]:
        """Has exactly these queues, whoever else reads them."""
        held = {queue.queue: queue for queue in self._reading.holdings.all()}
        yield from self._give_up([queue for place, queue in held.items() if place not in wanted])
        for place in wanted:
            if place not in held:
                self._begin(place, (yield from self.start_of(place)))

    def give_up_all(self) -> Operation[None]:
        """Gives up all queues, when the member goes."""
        yield from self._give_up(self._reading.holdings.all())

    def start_of(self, queue: MessageQueue) -> Operation[int]:
        """Where to begin to read a queue."""
        reading = self._reading
        start = reading.options.start
        if start == "latest" and not self._is_first_round:
            # What is new since this member is here was sent to it, also where the queue itself is new.
            start = self._started_ms
        committed = yield from reading.store.load(queue)
        place = place_to_begin(queue.topic, committed, start)
        if place is Search.LAST:
            return (yield from reading.requests.last_offset(queue))
        if isinstance(place, Search):
            return (yield from reading.requests.offset_by_time(queue, int(start)))
        return place

    def _divide(self, topic: str) -> Operation[bool]:
        reading = self._reading
        route = yield from reading.client.route(topic)
        queues = list(route.readable)
        if not reading.options.is_broadcasting:
            # Any broker of the topic knows the members, since all of them send it heartbeats.
            members = yield from reading.requests.members(queues[0].broker_name) if queues else _nobody()
            queues = allocate(reading.options.strategy, reading.client.client_id, queues, members)
        changes = reading.holdings.changes(topic, queues)
        yield from self._give_up(changes.lost)
        return (yield from self._take_up(changes.gained))

    def _give_up(self, lost: Sequence[ProcessQueue]) -> Operation[None]:
        reading = self._reading
        for queue in lost:
            reading.holdings.remove(queue)
            if (offset := reading.progress(queue)) is not None:
                reading.offsets.set(queue.queue, offset)
        unstored = reading.offsets.unstored([queue.queue for queue in lost])
        if unstored:
            yield from reading.store.save(reading.offsets, unstored)
        # A queue that a handler still has is unlocked when that is done with it.
        idle = [queue.queue for queue in lost if not queue.has_taken]
        if reading.locks is not None and idle:
            yield from reading.locks.release(idle)
        for queue in lost:
            reading.offsets.forget(queue.queue)

    def _take_up(self, gained: Sequence[MessageQueue]) -> Operation[bool]:
        reading = self._reading
        ready = set(gained)
        if reading.locks is not None and gained:
            ready = yield from reading.locks.acquire(gained)
        is_complete = True
        for place in gained:
            if place not in ready:
                is_complete = False
                continue
            try:
                begin = yield from self.start_of(place)
            except EscrowError as error:
                _LOG.warning("nobody says where to read: group %s, queue %s, error %s", reading.group, place, error)
                is_complete = False
                continue
            self._begin(place, begin)
        return is_complete

    def _begin(self, place: MessageQueue, begin: int) -> None:
        queue = ProcessQueue(place, begin)
        # Stored with the next ones, it tells whoever has the queue next where the group began.
        self._reading.offsets.set(place, begin)
        self._reading.holdings.add(queue)
        _LOG.info("group %s reads %s from offset %s on", self._reading.group, place, begin)
        self._gained(queue)


def _nobody() -> Operation[list[str]]:
    yield from ()
    return []
