"""Delay levels: how long a message of each waits, and in which queue of the schedule topic."""

from typing import Final

from msgspec import Struct

_UNITS_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class DelayLevels(Struct, frozen=True):
    """The delays of level 1 and up."""

    delays_ms: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> "DelayLevels":
        """Levels as RocketMQ writes them: `1s 5s 10s 30s 1m`."""
        return cls(tuple(int(word[:-1]) * _UNITS_MS[word[-1]] for word in text.split(" ")))

    @property
    def highest(self) -> int:
        """The last level."""
        return len(self.delays_ms)

    def delay_ms(self, level: int) -> int:
        """How long a message of a level waits; level 1 is the first."""
        return self.delays_ms[level - 1]


def queue_of(level: int) -> int:
    """The queue of the schedule topic in which messages of a level wait."""
    return level - 1
