"""The desk: where half messages are handed in and decided, for whoever keeps the other half of a transaction."""

from collections.abc import Callable, Collection, Sequence
from types import TracebackType
from typing import Final, Self

from escrowmq._core import Message
from escrowmq.client.connection import Client
from escrowmq.client.operation import Operation
from escrowmq.client.producer.draft import check_group
from escrowmq.client.producer.options import DEFAULTS, ProducerOptions
from escrowmq.client.transactions.checking import Checking
from escrowmq.client.transactions.deciding import Deciding
from escrowmq.client.transactions.values import Decision, Ended, HalfMessage, Prepared
from escrowmq.errors import ServerClosed


class DeskCore:
    """What both desks are: a group that brokers know of, and answers to what they ask."""

    def __init__(
        self,
        client: Client,
        group: str,
        *,
        topics: Collection[str],
        check: Callable[[HalfMessage], Decision | None],
        options: ProducerOptions = DEFAULTS,
    ) -> None:
        check_group(group)
        self.client: Final = client
        self.deciding: Final = Deciding(client, group, options)
        self._topics: Final = set(topics)
        self._checking: Final = Checking(client, group, self.deciding, check)
        self._registration: Final = client.register_producer(group, self._known_topics)

    def used(self, messages: Sequence[Message]) -> None:
        """Brokers of these topics hear of the group too, from now on."""
        new = {message.topic for message in messages} - self._topics
        if new:
            self._topics.update(new)
            self.client.beat()

    def closing(self) -> Operation[None]:
        """Brokers are told, and questions are not answered any more."""
        self._checking.end()
        yield from self._registration.closing()

    def _known_topics(self) -> Collection[str]:
        return tuple(self._topics)


class TransactionDesk:
    """Half messages of one producer group. Any thread may use it; `escrowmq.client.aio` has the same for asyncio.

    Brokers hear of the group at once, so that a process that starts again is asked what it left undecided.
    """

    def __init__(
        self,
        client: Client,
        group: str,
        *,
        topics: Collection[str],
        check: Callable[[HalfMessage], Decision | None],
        options: ProducerOptions = DEFAULTS,
    ) -> None:
        """Registers.

        Args:
            client: Who talks to the brokers; it is not closed with the desk.
            group: The group that may decide, and is asked.
            topics: The topics of its messages, as far as they are known.
            check: Asked what became of a transaction, on a worker; None and an error mean that nobody knows yet.
            options: How half messages are sent.
        """
        self._core: Final = DeskCore(client, group, topics=topics, check=check, options=options)

    def prepare(self, messages: Sequence[Message], *, timeout_s: float | None = None) -> list[Prepared]:
        """Sends half messages, all or an error.

        Raises:
            PrepareFailed: Not all got through; its `prepared` are to be rolled back.
        """
        self._core.used(messages)
        return self._core.client.run(self._core.deciding.prepare_all(messages, timeout_s=timeout_s))

    def end(
        self, prepared: Sequence[Prepared], decision: Decision, *, remark: str | None = None, timeout_s: float = 3.0
    ) -> list[Ended]:
        """Tells brokers a decision; what came of each. It does not raise."""
        ends = self._core.deciding.end_all(prepared, decision, remark=remark, timeout_s=timeout_s)
        try:
            return self._core.client.run(ends)
        except ServerClosed:
            return [Ended.UNREACHABLE for _ in prepared]

    def resume(self, prepared: Prepared, *, timeout_s: float = 3.0) -> bool:
        """Brings a transaction back that its broker has given up: it is asked about again. Whether that was done."""
        return self._core.client.run(self._core.deciding.resume(prepared, timeout_s=timeout_s))

    def close(self) -> None:
        """Brokers are told that the group's producer here has gone."""
        if not self._core.client.is_closed:
            self._core.client.run(self._core.closing())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
