"""Metrics as values. What is measured, whoever has it says; `exposition` writes it down."""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct

Kind: TypeAlias = Literal["counter", "gauge"]
Numbers = TypeVar("Numbers")


class Metric(Struct, frozen=True):
    """Something that is measured: a counter only grows, a gauge goes up and down."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    meaning: str


class Reading(Struct, frozen=True):
    """A metric's value where its labels have these values."""

    metric: Metric
    value: float
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
