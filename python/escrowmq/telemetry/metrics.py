"""Metrics as values. What is measured, whoever has it says; `exposition` writes it down."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]
Numbers = TypeVar("Numbers")


class Metric(Struct, frozen=True):
    """Something that is measured: a counter only grows, a gauge goes up and down, a histogram sorts values."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    meaning: str


class Distribution(Struct, frozen=True):
    """How many values a histogram saw: up to each bound, and the last beyond all; and what they come to together."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float


class Histogram:
    """Counts values by how large they are."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0

    def add(self, value: float) -> None:
        """Counts a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value

    def read(self) -> Distribution:
        """What it has seen by now."""
        return Distribution(self._bounds, tuple(self._counts), self._total)


class Reading(Struct, frozen=True):
    """A metric's value where its labels have these values."""

    metric: Metric
    value: float | Distribution
    labels: tuple[str, ...] = ()


class CountedMetric(Struct, Generic[Numbers], frozen=True):
    """A metric that stands among numbers that somebody counts anyway."""

    metric: Metric
    read: Callable[[Numbers], float]


def counted(name: str, kind: Kind, meaning: str, read: Callable[[Numbers], float]) -> CountedMetric[Numbers]:
    """A metric of ours without labels."""
    return CountedMetric(Metric(f"escrowmq_{name}", kind, (), meaning), read)


def read_counted(metrics: Iterable[CountedMetric[Numbers]], numbers: Numbers) -> Iterator[Reading]:
    """What they are at the moment."""
    return (Reading(counted.metric, counted.read(numbers)) for counted in metrics)
