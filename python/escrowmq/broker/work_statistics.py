"""How much the broker did: since the start, each second of the last minutes, and since the last midnights."""

from collections import deque
from collections.abc import Callable
from datetime import date, datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

WINDOWS: Final = (1, 6, 60)
"""Samples in the windows that RocketMQ shows: ten seconds, a minute, ten minutes."""


class Work(Struct, frozen=True):
    """What was done since the start."""

    messages_put: int = 0
    pulls_found: int = 0
    pulls_missed: int = 0
    messages_got: int = 0
    timers_taken_in: int = 0
    timers_delivered: int = 0


class WorkStatistics:
    """Notes of what was done. `sample` is to be called every ten seconds."""

    def __init__(self, read: Callable[[], Work], *, now_ms: Callable[[], int], wall_ms: Callable[[], int]) -> None:
        self._read = read
        self._now_ms = now_ms
        self._wall_ms = wall_ms
        self._samples: deque[tuple[int, Work]] = deque(maxlen=max(WINDOWS) + 1)
        self._day = self._today()
        self.this_morning = Work()
        """What was done up to the last midnight."""
        self.yesterday_morning = Work()
        """What was done up to the midnight before it."""
        self.sample()

    def now(self) -> Work:
        """What was done up to now."""
        return self._read()

    def sample(self) -> None:
        """Notes what was done, and whether a day has begun."""
        work = self._read()
        self._samples.append((self._now_ms(), work))
        today = self._today()
        if today != self._day:
            self.yesterday_morning, self.this_morning = self.this_morning, work
            self._day = today

    def per_s(self, what: str) -> list[float | None]:
        """How much of something was done each second, in each window; None while a window is not over."""
        rates: list[float | None] = []
        for count in WINDOWS:
            if len(self._samples) <= count:
                rates.append(None)
                continue
            (first_ms, first), (last_ms, last) = self._samples[-count - 1], self._samples[-1]
            done = asdict(last)[what] - asdict(first)[what]
            rates.append(done * 1_000 / max(1, last_ms - first_ms))
        return rates

    def _today(self) -> date:
        return datetime.fromtimestamp(self._wall_ms() / 1_000).astimezone().date()
