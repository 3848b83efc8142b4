"""Who calls handlers: what a runner is, whether of threads or of tasks, and what a handler's answer means."""

import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

from escrowmq.client.consumer.process_queue import Batch
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.client.consumer.retry_rules import Consumed

_LOG: Final = logging.getLogger("escrowmq.client")

Handler: TypeAlias = Callable[[Sequence[ReceivedMessage]], Consumed | None]
AsyncHandler: TypeAlias = Callable[[Sequence[ReceivedMessage]], Awaitable[Consumed | None]]


class Said(Struct, frozen=True):
    """What came of a call: what the handler said, or raised."""

    consumed: Consumed | None = None
    error: str = ""

    @property
    def is_success(self) -> bool:
        """Whether the messages are done: a handler that says nothing is content."""
        return not self.error and self.consumed is not Consumed.RECONSUME_LATER


class Runner(Protocol):
    """Calls handlers, a bounded number at a time."""

    def submit(self, take: Callable[[], Batch | None], settle: Callable[[Batch, Said], None]) -> None:
        """Calls the handler with what `take` gives when it is this one's turn. From any thread; returns at once."""

    def submit_one(self, message: ReceivedMessage, settle: Callable[[Said], None]) -> None:
        """Calls the handler with one message that belongs to no queue."""


def call(handler: Handler, messages: Sequence[ReceivedMessage]) -> Said:
    """Calls a handler."""
    try:
        return Said(handler(messages))
    except Exception as error:  # noqa: BLE001 - whatever a handler raises, its messages come again
        return failed(messages, error)


async def call_async(handler: AsyncHandler, messages: Sequence[ReceivedMessage]) -> Said:
    """Calls a handler that is a coroutine function."""
    try:
        return Said(await handler(messages))
    except Exception as error:  # noqa: BLE001 - whatever a handler raises, its messages come again
        return failed(messages, error)


def failed(messages: Sequence[ReceivedMessage], error: Exception) -> Said:
    """What a handler means that raised."""
    _LOG.error("a handler failed: messages %s, first %s", len(messages), messages[0], exc_info=error)
    return Said(error=f"{type(error).__name__}: {error}")


class Tally:
    """Counts what is under way. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def add(self, count: int) -> None:
        """So many more, or less."""
        with self._lock:
            self._count += count

    def __bool__(self) -> bool:
        return self._count > 0


LOCAL_RETRY_S: Final = 5.0
"""When a handler gets a message again that could not be given back to its broker."""
