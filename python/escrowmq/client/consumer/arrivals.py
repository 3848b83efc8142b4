"""A step that ends when messages have come, or when a time is over."""

import threading

from escrowmq.client.engine import Engine
from escrowmq.client.operation import Cancel, Operation, Settle


class Arrivals:
    """Counts arrivals, so that none is missed between looking and waiting. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[_Wait] = []
        self.count = 0

    def tell(self) -> None:
        """Something has come."""
        with self._lock:
            self.count += 1
            waiting, self._waiting = self._waiting, []
        for wait in waiting:
            wait.end()

    def next(self, seen: int, *, timeout_s: float) -> Operation[None]:
        """Waits until more have come than were seen."""
        yield _Wait(self, seen, timeout_s)

    def add(self, wait: "_Wait", seen: int) -> bool:
        """Has somebody told of the next arrival; False if it has come."""
        with self._lock:
            if self.count != seen:
                return False
            self._waiting.append(wait)
            return True

    def remove(self, wait: "_Wait") -> None:
        """Has nobody told."""
        with self._lock:
            if wait in self._waiting:
                self._waiting.remove(wait)


class _Wait:
    def __init__(self, arrivals: Arrivals, seen: int, timeout_s: float) -> None:
        self._arrivals = arrivals
        self._seen = seen
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._settle: Settle | None = None
        self._cancel_timer: Cancel | None = None

    def begin(self, engine: Engine, settle: Settle) -> Cancel:
        """Begins to wait."""
        self._settle = settle
        self._cancel_timer = engine.deadlines.later(self._timeout_s, self._expire)
        if not self._arrivals.add(self, self._seen):
            self.end()
        return self._cancel

    def end(self) -> None:
        """The time is over, or something has come."""
        with self._lock:
            settle, self._settle = self._settle, None
            cancel_timer, self._cancel_timer = self._cancel_timer, None
        if cancel_timer is not None:
            cancel_timer()
        if settle is not None:
            settle(None, None)

    def _cancel(self) -> None:
        with self._lock:
            self._settle = None
        self._expire()

    def _expire(self) -> None:
        self._arrivals.remove(self)
        self.end()
