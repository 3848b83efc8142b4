"""The log, as those write to it who are not the fast lane: what they append is counted by topic, as sends are."""

from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from escrowmq import _core
from escrowmq.broker.ports import AppendedMessage

Placed_co = TypeVar("Placed_co", bound=AppendedMessage, covariant=True)


class TrafficCounters(Protocol):
    """Who counts what comes in: `escrowmq._core.BrokerServer`, or a test's own."""

    def count_in(self, topic: str, *, messages: int, size_bytes: int) -> None:
        """Adds messages, and bytes of their records, to what came in for a topic."""


class PlacingLog(Protocol[Placed_co]):
    """Where messages go: `escrowmq._core.Store`, or a test's own."""

    def append(self, messages: Sequence[_core.Message], /, *, uses_reserve: bool = False) -> Iterable[Placed_co]:
        """Appends all messages or none, without waiting for the disk."""


class CountedLog(Generic[Placed_co]):
    """Appends, and counts what was appended."""

    def __init__(self, log: PlacingLog[Placed_co], counters: TrafficCounters) -> None:
        self._log = log
        self._counters = counters

    def append(self, messages: Sequence[_core.Message], *, uses_reserve: bool = False) -> Sequence[Placed_co]:
        """Appends all messages or none, without waiting for the disk; on a disk that is too full, from its reserve."""
        receipts = list(self._log.append(messages, uses_reserve=uses_reserve))
        sizes_bytes: dict[str, list[int]] = {}
        for message, receipt in zip(messages, receipts, strict=True):
            sizes_bytes.setdefault(message.topic, []).append(receipt.end_offset - receipt.log_offset)
        for topic, sizes in sizes_bytes.items():
            self._counters.count_in(topic, messages=len(sizes), size_bytes=sum(sizes))
        return receipts
