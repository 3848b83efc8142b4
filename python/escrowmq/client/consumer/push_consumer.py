"""`PushConsumer`: calls a function with the messages of some topics, as one member of a group."""

import logging
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

from msgspec.structs import replace

from escrowmq.client.consumer.options import PushOptions
from escrowmq.client.consumer.push import PushCore
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.client.consumer.retry_rules import Consumed
from escrowmq.client.consumer.running import Handler
from escrowmq.client.consumer.seats import take_seat
from escrowmq.client.consumer.thread_runner import ThreadRunner
from escrowmq.client.options import ClientOptions
from escrowmq.model import names
from escrowmq.model.message_queue import MessageQueue
from escrowmq.model.subscription import ALL_TAGS

_LOG: Final = logging.getLogger("escrowmq.client")

_OPTIONS: Final = PushOptions()
_CLIENT_OPTIONS: Final = ClientOptions()


class PushConsumer:
    """A consumer with a handler. Use it as a context manager, or `start` and `close` it.

        with PushConsumer("127.0.0.1:9876", "billing", on_message=bill) as consumer:
            consumer.subscribe("orders", "paid || shipped")
            ...

    A handler that returns nothing, or `Consumed.SUCCESS`, is content. One that raises, or returns
    `Consumed.RECONSUME_LATER`, gets the messages again. Handlers run on threads of the consumer, `handlers_max` at a
    time. A message may come twice, as when a process dies or queues change hands: handlers have to bear it.
    """

    def __init__(
        self,
        name_servers: str | Sequence[str],
        group: str,
        *,
        on_message: Callable[[ReceivedMessage], Consumed | None] | None = None,
        on_batch: Callable[[Sequence[ReceivedMessage]], Consumed | None] | None = None,
        options: PushOptions = _OPTIONS,
        client_options: ClientOptions = _CLIENT_OPTIONS,
    ) -> None:
        """Makes a consumer that reads nothing yet.

        Args:
            name_servers: Where to ask for brokers.
            group: The group that it is a member of.
            on_message: What handles a message.
            on_batch: What handles up to `options.batch_max` messages of one queue: either this or `on_message`.
            options: How it is set up.
            client_options: How its connections are.

        Raises:
            ValueError: The group has a name that none can have, or there is not one handler.
        """
        if (refusal := names.refuse_group(group)) is not None:
            raise ValueError(refusal)
        handler, options = one_handler(on_message, on_batch, options)
        self._group = group
        self._options = options
        self._runner = ThreadRunner(handler, name=f"escrowmq-{group}", threads_max=options.handlers_max)
        self._seat = take_seat(name_servers, group, options=client_options)
        self._client = self._seat.client
        self._core = PushCore(self._client, group, options, self._runner)
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
        """Begins to read; what is sent after it returned is read, also where the group begins at the end."""
        with self._lock:
            if self._is_started or self._is_closed:
                return
            self._is_started = True
        self._client.run(self._core.start())

    def close(self, *, timeout_s: float | None = None) -> bool:
        """Reads no more, waits for handlers, stores how far the group is and gives the queues to the others.

        Whether all handlers have returned in time. What those do that have not, counts no more: their messages come
        again. Their threads end with them, and do not keep the process.
        """
        with self._lock:
            if self._is_closed:
                return True
            self._is_closed = True
        patience_s = self._options.close_timeout_s if timeout_s is None else timeout_s
        self._core.stop()
        has_ended = self._runner.close(timeout_s=patience_s)
        if not has_ended:
            _LOG.error("a handler of group %s does not return within %s s", self._group, patience_s)
        try:
            if self._is_started:
                self._client.run(self._core.settled(timeout_s=patience_s))
                self._client.run(self._core.member.leave())
        finally:
            self._seat.leave()
        return has_ended

    @property
    def assignment(self) -> list[MessageQueue]:
        """The queues that it reads, those of its group's retry topic among them."""
        return self._core.member.assignment

    @property
    def fetched_count(self) -> int:
        """Messages that were fetched and are not done."""
        return self._core.member.fetched_count

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def one_handler(
    on_message: Callable[[ReceivedMessage], Consumed | None] | None, on_batch: Handler | None, options: PushOptions
) -> tuple[Handler, PushOptions]:
    """The handler for batches that is meant, and the options that go with it.

    Raises:
        ValueError: There are none or two.
    """
    if on_batch is not None and on_message is None:
        return on_batch, options
    if on_message is None or on_batch is not None:
        raise ValueError("a consumer has one handler: either on_message or on_batch")
    handler = on_message
    return lambda messages: handler(messages[0]), replace(options, batch_max=1)
