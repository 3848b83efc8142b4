"""Work that no request asks for: each kind says when it is needed, and the broker's thread then does a slice of it.

A kind that waits for what it appended asks `ports.LogWatch` to be woken, and looks at `ports.LogMarks` when it runs.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import structlog

PAUSE_AFTER_FAILURE_MS: Final = 1_000

_log = structlog.get_logger()


class Work(Protocol):
    """One kind of work. Its clock is its own."""

    def wait_ms(self) -> float:
        """How long nothing has to be done; 0 if something has to be now, infinity if only an event can change that."""

    def run(self) -> None:
        """Does what is due, but not for long: requests wait meanwhile."""


class Background:
    """All kinds of work. One that fails keeps no other from being done, and pauses."""

    def __init__(self, kinds: Sequence[Work], *, now_ms: Callable[[], int]) -> None:
        self._kinds = kinds
        self._now_ms = now_ms
        # By the place of a kind: until when it pauses.
        self._paused_until_ms: dict[int, int] = {}

    def wait_ms(self) -> float:
        """How long nothing has to be done."""
        return min((self._wait_ms(place) for place in range(len(self._kinds))), default=math.inf)

    def run(self) -> None:
        """Does what is due."""
        for place, work in enumerate(self._kinds):
            if self._wait_ms(place) > 0:
                continue
            self._paused_until_ms.pop(place, None)
            try:
                work.run()
            except Exception:  # noqa: BLE001 - what fails now may succeed later, and others must not suffer from it
                self._paused_until_ms[place] = self._now_ms() + PAUSE_AFTER_FAILURE_MS
                _log.exception("background work failed", kind=type(work).__name__)

    def _wait_ms(self, place: int) -> float:
        pause_ms = self._paused_until_ms.get(place, 0) - self._now_ms()
        return max(float(pause_ms), self._kinds[place].wait_ms())
