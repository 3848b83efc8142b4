"""What is to be done when a time has come: questions whose answer is late, and timers.

Questions that are asked with the same patience are late in the order in which they are asked: each patience has a
queue, and a question costs no sorting, though there may be a hundred thousand in flight.
"""

import heapq
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from escrowmq.errors import ServerClosed

# A wait that ends this much late is on time: whoever waits is woken less often.
_PATIENCE_STEP_S: Final = 0.01


class Expected(Protocol):
    """Something that is waited for."""

    @property
    def is_settled(self) -> bool:
        """Whether it came."""

    def expire(self) -> None:
        """Its time is over."""


class Deadlines:
    """Any thread adds, one thread does what is due."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._expected: dict[int, deque[tuple[float, Expected]]] = {}
        self._timers: list[tuple[float, int, Callable[[], None], Callable[[ServerClosed], None] | None]] = []
        self._cancelled: set[int] = set()
        self._numbers = itertools.count()
        # Until when the thread sleeps; nothing that is due later needs to wake it.
        self._sleeps_until_s = 0.0
        self._is_closed = False

    def expect(self, expected: Expected, timeout_s: float) -> None:
        """Has it expire, if it is not settled by then."""
        steps = max(1, round(timeout_s / _PATIENCE_STEP_S))
        deadline_s = time.monotonic() + steps * _PATIENCE_STEP_S
        with self._lock:
            queue = self._expected.get(steps)
            if queue is None:
                queue = self._expected[steps] = deque()
            queue.append((deadline_s, expected))
            is_first = deadline_s < self._sleeps_until_s
        if is_first:
            self._wake()

    def later(
        self, delay_s: float, task: Callable[[], None], *, dropped: Callable[[ServerClosed], None] | None = None
    ) -> Callable[[], None]:
        """Has a task done after a while, unless the client is closed before; what is returned takes it back."""
        at_s = time.monotonic() + delay_s
        number = next(self._numbers)
        with self._lock:
            is_closed = self._is_closed
            if not is_closed:
                heapq.heappush(self._timers, (at_s, number, task, dropped))
            is_first = at_s < self._sleeps_until_s
        if is_closed and dropped is not None:
            dropped(ServerClosed("the client was closed"))
        if is_first:
            self._wake()
        return lambda: self._cancel(number)

    def due(self) -> Iterator[Callable[[], None]]:
        """What is to be done now."""
        now_s = time.monotonic()
        with self._lock:
            tasks = [expected.expire for expected in self._late(now_s)]
            while self._timers and self._timers[0][0] <= now_s:
                _, number, task, _ = heapq.heappop(self._timers)
                if number in self._cancelled:
                    self._cancelled.discard(number)
                else:
                    tasks.append(task)
        return iter(tasks)

    def wait_s(self) -> float:
        """How long there is nothing to do."""
        with self._lock:
            times = [queue[0][0] for queue in self._expected.values()]
            if self._timers:
                times.append(self._timers[0][0])
            self._sleeps_until_s = min(times, default=float("inf"))
            return max(0.0, self._sleeps_until_s - time.monotonic())

    def close(self) -> None:
        """Nothing is done any more; whoever waits for a timer is told."""
        with self._lock:
            self._is_closed = True
            timers, self._timers = self._timers, []
        for _, number, _, dropped in timers:
            if dropped is not None and number not in self._cancelled:
                dropped(ServerClosed("the client was closed"))

    def _late(self, now_s: float) -> Iterator[Expected]:
        for steps, queue in list(self._expected.items()):
            while queue and (queue[0][1].is_settled or queue[0][0] <= now_s):
                _, expected = queue.popleft()
                if not expected.is_settled:
                    yield expected
            if not queue:
                del self._expected[steps]

    def _cancel(self, number: int) -> None:
        with self._lock:
            if any(entry[1] == number for entry in self._timers):
                self._cancelled.add(number)
