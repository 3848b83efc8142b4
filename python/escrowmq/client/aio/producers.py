"""Producers under asyncio: the names of `escrowmq.client`, with `await` where those block."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from types import TracebackType
from typing import Final, Protocol, Self

from escrowmq._core import Message
from escrowmq.client.connection import Client
from escrowmq.client.options import DEFAULTS as CLIENT_DEFAULTS
from escrowmq.client.options import ClientOptions
from escrowmq.client.producer.core import ProducerCore, later_properties
from escrowmq.client.producer.options import DEFAULTS, ProducerOptions
from escrowmq.client.producer.queue_choice import Selector
from escrowmq.client.producer.results import SendResult
from escrowmq.client.transactions.core import Verdicts, no_listener
from escrowmq.client.transactions.desk import DeskCore
from escrowmq.client.transactions.scope import Scope
from escrowmq.client.transactions.sending import Local, conclude, is_safe
from escrowmq.client.transactions.values import Decision, Ended, HalfMessage, Prepared, TransactionResult
from escrowmq.errors import ServerClosed
from escrowmq.model.message_queue import MessageQueue

__all__ = ["Producer", "TransactionDesk", "TransactionListener", "TransactionProducer"]


class TransactionListener(Protocol):
    """What a service knows of its local transactions. Both are awaited in the event loop that made the producer."""

    async def execute(self, message: Message, argument: object) -> Decision | None:
        """Runs the local transaction, when the broker has the half message. None and an error mean UNKNOWN."""

    async def check(self, half: HalfMessage) -> Decision | None:
        """Says what became of a local transaction. None and an error mean UNKNOWN."""


class Producer:
    """`escrowmq.client.Producer` under asyncio. To be made and closed in an event loop."""

    def __init__(
        self,
        name_servers: str | Sequence[str],
        *,
        group: str,
        topics: Collection[str] = (),
        options: ProducerOptions = DEFAULTS,
        client_options: ClientOptions = CLIENT_DEFAULTS,
    ) -> None:
        """Registers; see `escrowmq.client.Producer`."""
        self._core: Final = ProducerCore(
            name_servers, group=group, topics=topics, options=options, client_options=client_options
        )

    @property
    def group(self) -> str:
        """The producer group."""
        return self._core.group

    @property
    def client_id(self) -> str:
        """Who this process is to brokers."""
        return self._core.client.client_id

    async def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selector | None = None,
        sharding_key: str | None = None,
        delay_level: int | None = None,
        delay_s: float | None = None,
        deliver_at: datetime | None = None,
        timeout_s: float | None = None,
    ) -> SendResult:
        """Sends a message; see `escrowmq.client.Producer.send`. One that is cancelled may arrive all the same."""
        later = later_properties(delay_level=delay_level, delay_s=delay_s, deliver_at=deliver_at)
        return await self._core.client.run_async(
            self._core.send(
                message,
                queue=queue,
                selector=selector,
                sharding_key=sharding_key,
                later=later,
                timeout_s=timeout_s,
            )
        )

    async def send_many(
        self, messages: Sequence[Message], *, queue: MessageQueue | None = None, timeout_s: float | None = None
    ) -> SendResult:
        """Sends messages of one topic in one request; see `escrowmq.client.Producer.send_many`."""
        return await self._core.client.run_async(self._core.send_many(messages, queue=queue, timeout_s=timeout_s))

    async def send_one_way(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selector | None = None,
        sharding_key: str | None = None,
    ) -> None:
        """Sends a message without an answer; see `escrowmq.client.Producer.send_one_way`."""
        await self._core.client.run_async(
            self._core.send_one_way(message, queue=queue, selector=selector, sharding_key=sharding_key)
        )

    async def queues(self, topic: str) -> list[MessageQueue]:
        """The queues of a topic that may be written to."""
        return await self._core.client.run_async(self._core.queues(topic))

    async def recall(self, topic: str, recall_handle: str) -> str:
        """Takes a message back that was sent for later; its id."""
        return await self._core.client.run_async(self._core.recall(topic, recall_handle))

    async def close(self) -> None:
        """Brokers are told; the threads end with the last who shares them. Again, it does nothing."""
        if self._core.is_closed:
            return
        try:
            if not self._core.client.is_closed:
                await self._core.client.run_async(self._core.closing())
        finally:
            # Ending threads takes a moment, which the loop has better uses for.
            await asyncio.to_thread(self._core.release)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class TransactionProducer(Producer):
    """`escrowmq.client.TransactionProducer` under asyncio. To be made and closed in an event loop."""

    def __init__(
        self,
        name_servers: str | Sequence[str],
        *,
        group: str,
        topics: Collection[str],
        listener: TransactionListener | None = None,
        options: ProducerOptions = DEFAULTS,
        client_options: ClientOptions = CLIENT_DEFAULTS,
    ) -> None:
        """Registers; see `escrowmq.client.TransactionProducer`."""
        super().__init__(name_servers, group=group, topics=topics, options=options, client_options=client_options)
        self._listener: Final = listener
        self._verdicts: Final = Verdicts()
        ask = None if listener is None else in_loop(listener.check)

        def check(half: HalfMessage) -> Decision | None:
            said = self._verdicts.find(half.transaction_id)
            return ask(half) if said is None and ask is not None else said

        self._desk: Final = DeskCore(self._core.client, group, topics=topics, check=check, options=options)

    async def send_in_transaction(
        self, message: Message, argument: object = None, *, timeout_s: float | None = None
    ) -> TransactionResult:
        """Sends a message in a transaction; see `escrowmq.client.TransactionProducer.send_in_transaction`."""
        if self._listener is None:
            raise no_listener(self.group)
        self._desk.used([message])
        deciding, run = self._desk.deciding, self._core.client.run_async
        sent, prepared = await run(deciding.prepare(message, timeout_s=timeout_s))
        local = Local(Decision.ROLLBACK)
        if is_safe(sent):
            self._verdicts.begin(prepared.transaction_id)
            try:
                local = Local(await self._listener.execute(message, argument))
            except asyncio.CancelledError:
                # Nobody knows whether it has committed: the broker asks.
                self._verdicts.end(prepared.transaction_id, Decision.UNKNOWN)
                raise
            except Exception as error:  # noqa: BLE001 - it is in the result, and the broker asks
                local = Local(None, error)
        timeout_s = self._core.options.send_timeout_s
        try:
            return await run(conclude(deciding, self._verdicts, sent, prepared, local, timeout_s=timeout_s))
        except ServerClosed:
            # What the local transaction did stays done: whoever is next in the group is asked.
            return TransactionResult(sent, local.decision, Ended.UNREACHABLE, local.error)

    @asynccontextmanager
    async def transaction(self, *messages: Message, timeout_s: float | None = None) -> AsyncIterator[Scope]:
        """A block whose messages are committed with it; see `escrowmq.client.TransactionProducer.transaction`."""
        if self._listener is None:
            raise no_listener(self.group)
        self._desk.used(messages)
        run, patience_s = self._core.client.run_async, timeout_s or self._core.options.send_timeout_s
        scope = Scope(self._desk.deciding, self._verdicts, messages, patience_s)
        await run(scope.entering())
        try:
            yield scope
        except BaseException as error:
            with suppress(ServerClosed):
                await asyncio.shield(run(scope.leaving(error)))
            raise
        with suppress(ServerClosed):
            await asyncio.shield(run(scope.leaving(None)))

    async def close(self) -> None:
        """Brokers are told, and ask somebody else."""
        if not self._core.is_closed and not self._core.client.is_closed:
            await self._core.client.run_async(self._desk.closing())
        await super().close()


class TransactionDesk:
    """`escrowmq.client.TransactionDesk` under asyncio. To be made in the event loop that `check` is awaited in."""

    def __init__(
        self,
        client: Client,
        group: str,
        *,
        topics: Collection[str],
        check: Callable[[HalfMessage], Awaitable[Decision | None]],
        options: ProducerOptions = DEFAULTS,
    ) -> None:
        """Registers; see `escrowmq.client.TransactionDesk`."""
        self._core: Final = DeskCore(client, group, topics=topics, check=in_loop(check), options=options)

    async def prepare(self, messages: Sequence[Message], *, timeout_s: float | None = None) -> list[Prepared]:
        """Sends half messages, all or a `PrepareFailed`."""
        self._core.used(messages)
        return await self._core.client.run_async(self._core.deciding.prepare_all(messages, timeout_s=timeout_s))

    async def end(
        self, prepared: Sequence[Prepared], decision: Decision, *, remark: str | None = None, timeout_s: float = 3.0
    ) -> list[Ended]:
        """Tells brokers a decision; what came of each. It does not raise."""
        ends = self._core.deciding.end_all(prepared, decision, remark=remark, timeout_s=timeout_s)
        try:
            return await self._core.client.run_async(ends)
        except ServerClosed:
            return [Ended.UNREACHABLE for _ in prepared]

    async def resume(self, prepared: Prepared, *, timeout_s: float = 3.0) -> bool:
        """Brings a transaction back that its broker has given up. Whether that was done."""
        return await self._core.client.run_async(self._core.deciding.resume(prepared, timeout_s=timeout_s))

    async def close(self) -> None:
        """Brokers are told that the group's producer here has gone."""
        if not self._core.client.is_closed:
            await self._core.client.run_async(self._core.closing())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def in_loop(
    check: Callable[[HalfMessage], Awaitable[Decision | None]],
) -> Callable[[HalfMessage], Decision | None]:
    """A check that waits, on a worker, for one that is awaited in the event loop of now."""
    loop = asyncio.get_running_loop()

    async def run(half: HalfMessage) -> Decision | None:
        return await check(half)

    def ask(half: HalfMessage) -> Decision | None:
        asked = run(half)
        try:
            return asyncio.run_coroutine_threadsafe(asked, loop).result()
        finally:
            # In a loop that was closed it never began.
            asked.close()

    return ask
