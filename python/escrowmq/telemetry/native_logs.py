"""Passes on to structured logs what native threads log. Served beside servers: it asks for work as they do."""

import math
from types import TracebackType
from typing import Self

import structlog

from escrowmq._core import NativeLog
from escrowmq.telemetry.logging import LogLevel

_log = structlog.get_logger()


class NativeLogs:
    """Use it as a context manager around what is to be logged: what is left at its end is passed on then."""

    def __init__(self, level: LogLevel) -> None:
        self._native = NativeLog(level)

    def fileno(self) -> int:
        """A descriptor that is readable while there is something to do."""
        return self._native.fileno()

    def wait_ms(self) -> float:
        """Nothing has to be done until the descriptor says so."""
        return math.inf

    def step(self) -> None:
        """Passes on what waits."""
        records, dropped = self._native.take()
        for level, event, fields in records:
            getattr(_log, level)(event, **fields)
        if dropped:
            _log.warning("native log records dropped", count=dropped)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.step()
