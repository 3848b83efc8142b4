"""transactionMetrics: how many half messages are pending by topic, as Apache's broker goes on counting them.

Ours counts what is pending. It writes the file when a store may be handed over: when it stops, or is recovered.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct, field

from escrowmq.broker.data_version import next_version
from escrowmq.broker.ports import TextFile
from escrowmq.model.data_version import DataVersion

FILE_NAME: Final = "transactionMetrics"


class TopicCount(Struct, frozen=True):
    """How many of a topic."""

    count: int
    counted_ms: int = field(name="timeStamp")


class TransactionCounts(Struct, frozen=True):
    """What the file holds."""

    data_version: DataVersion = field(default_factory=DataVersion, name="dataVersion")
    counts: dict[str, TopicCount] = field(default_factory=dict, name="transactionCount")


def save_counts(file: TextFile, pending: Mapping[str, int], *, now_ms: int) -> None:
    """Writes how many are pending, unless the file says so already.

    Raises:
        StoreError: The file can't be written.
    """
    saved = _saved(file)
    if saved is not None and {topic: one.count for topic, one in saved.counts.items()} == pending:
        return
    version = DataVersion() if saved is None else saved.data_version
    counts = {topic: TopicCount(count, now_ms) for topic, count in pending.items()}
    found = TransactionCounts(next_version(version, now_ms=now_ms), counts)
    file.save(msgspec.json.encode(found).decode())


def _saved(file: TextFile) -> TransactionCounts | None:
    """What is there; None for nothing, and for what Apache's broker does not write: it is to be replaced anyway."""
    text = file.load()
    try:
        return None if text is None else msgspec.json.decode(text, type=TransactionCounts)
    except msgspec.ValidationError:
        return None
