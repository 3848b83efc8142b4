"""`PullConsumer`: is asked for messages, as one member of a group or for queues that it is told."""

import threading
from collections.abc import Collection, Iterator, Sequence
from types import TracebackType
from typing import Final, Self

from escrowmq.client.consumer.options import PullOptions
from escrowmq.client.consumer.pull import PullCore
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.client.consumer.seats import take_seat
from escrowmq.client.options import ClientOptions
from escrowmq.model import names
from escrowmq.model.message_queue import MessageQueue
from escrowmq.model.place import Place
from escrowmq.model.subscription import ALL_TAGS

POLL_TIMEOUT_S: Final = 5.0
POLL_COUNT_MAX: Final = 32

_OPTIONS: Final = PullOptions()
_CLIENT_OPTIONS: Final = ClientOptions()


class PullConsumer:
    """A consumer that is asked. Use it as a context manager, or `start` and `close` it.

        consumer = PullConsumer("127.0.0.1:9876", "billing")
        consumer.subscribe("orders")
        with consumer:
            for message in consumer:
                ...

    Either it subscribes to topics, and divides their queues with the other members of its group; or queues are assigned
    to it, and nobody is asked. What it hands out counts as done when it is asked for more, or, if its options say so,
    when it is told to `commit`. A message may come twice.
    """

    def __init__(
        self,
        name_servers: str | Sequence[str],
        group: str,
        *,
        options: PullOptions = _OPTIONS,
        client_options: ClientOptions = _CLIENT_OPTIONS,
    ) -> None:
        """Makes a consumer that reads nothing yet.

        Raises:
            ValueError: The group has a name that none can have.
        """
        if (refusal := names.refuse_group(group)) is not None:
            raise ValueError(refusal)
        self._seat = take_seat(name_servers, group, options=client_options)
        self._client = self._seat.client
        self._core = PullCore(self._client, group, options)
        self._lock = threading.Lock()
        self._is_started = False
        self._is_closed = False

    def subscribe(self, topic: str, tags: str = ALL_TAGS, *, sql: str = "") -> None:
        """Wants messages of a topic: all, those with one of some tags, or those whose properties make `sql` true.

        Raises:
            ValueError: The name is none that a topic can have, the expression none of tags, or both are given.
        """
        self._core.subscribe(topic, tags, sql)

    def start(self) -> None:
        """Begins to read what it has subscribed to."""
        with self._lock:
            if self._is_started or self._is_closed:
                return
            self._is_started = True
        self._client.run(self._core.start())

    def queues(self, topic: str) -> list[MessageQueue]:
        """The queues of a topic that may be read.

        Raises:
            NotThere: There is no such topic.
        """
        return self._client.run(self._core.queues(topic))

    def assign(self, queues: Collection[MessageQueue]) -> None:
        """Reads these queues and no others, whatever members read; without `start`, nobody knows of it.

        Raises:
            EscrowError: A broker does not say where to begin.
        """
        self._client.run(self._core.assign(queues))

    def poll(self, *, timeout_s: float = POLL_TIMEOUT_S, count_max: int = POLL_COUNT_MAX) -> list[ReceivedMessage]:
        """The next messages; none if there are none in time.

        What was handed out before is done, unless its options say that only `commit` makes it so.
        """
        return self._client.run(self._core.poll(timeout_s=timeout_s, count_max=count_max))

    def commit(self) -> None:
        """Stores how far the group is: behind all that was handed out."""
        self._client.run(self._core.commit())

    def seek(self, queue: MessageQueue, offset: int) -> None:
        """Goes on at an offset of a queue.

        Raises:
            NotThere: The queue is not this consumer's.
        """
        self._core.seek(queue, offset)

    def seek_to(self, queue: MessageQueue, place: Place) -> None:
        """Goes on at the beginning of a queue, at its end, or at a time in milliseconds since 1970 UTC.

        Raises:
            NotThere: The queue is not this consumer's.
        """
        self._core.seek(queue, self.offset_of(queue, place))

    def offset_of(self, queue: MessageQueue, place: Place) -> int:
        """The offset of the beginning of a queue, of its end, or of a time in milliseconds since 1970 UTC."""
        return self._client.run(self._core.offset_of(queue, place))

    def position(self, queue: MessageQueue) -> int:
        """The offset that is handed out next.

        Raises:
            NotThere: The queue is not this consumer's.
        """
        return self._core.position(queue)

    def committed(self, queue: MessageQueue) -> int | None:
        """What the group reads next, as it is stored; None where it has read nothing."""
        return self._client.run(self._core.committed(queue))

    def pause(self, queues: Collection[MessageQueue]) -> None:
        """Hands out nothing of some queues for a while.

        Raises:
            NotThere: A queue is not this consumer's.
        """
        self._core.set_paused(queues, is_paused=True)

    def resume(self, queues: Collection[MessageQueue]) -> None:
        """Hands out messages of these queues again.

        Raises:
            NotThere: A queue is not this consumer's.
        """
        self._core.set_paused(queues, is_paused=False)

    @property
    def assignment(self) -> list[MessageQueue]:
        """The queues that it reads."""
        return self._core.assignment

    def close(self, *, finishes: bool = True) -> None:
        """Reads no more, stores how far the group is and gives the queues to the others. Iterations end.

        Args:
            finishes: Whether what `poll` handed out last is done; else it comes again.
        """
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._core.stop(finishes=finishes)
        try:
            self._client.run(self._core.member.leave())
        finally:
            self._seat.leave()

    def __iter__(self) -> Iterator[ReceivedMessage]:
        """Messages as they come, until it is closed. A message is done when the next one is asked for."""
        while not self._is_closed:
            for batch in self._client.run(self._core.next_one_by_one(timeout_s=POLL_TIMEOUT_S)):
                yield batch.messages[0]
                self._core.finish(batch)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(finishes=error is None)
