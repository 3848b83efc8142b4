"""consumerOffset.json: what groups read next, in RocketMQ's format. The table itself is the fast lane's."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec
from msgspec import Struct, field

from escrowmq.broker import queue_facts
from escrowmq.broker.data_version import next_version
from escrowmq.broker.ports import MessageStore, TextFile
from escrowmq.model.data_version import DataVersion


class OffsetSource(Protocol):
    """Where offsets are kept while the broker runs: `escrowmq._core.BrokerServer`, or a test's own."""

    def consumer_offsets(self) -> Mapping[str, Mapping[int, int]]:
        """All offsets by `topic@group` and queue."""

    def consumer_offsets_version(self) -> int:
        """Counts changes: while it is the same, they are."""

    def pulled_offsets(self) -> Mapping[str, Mapping[int, int]]:
        """How far groups have pulled since the start, by `topic@group` and queue."""


class OffsetsFile(Struct, frozen=True):
    """What consumerOffset.json holds."""

    data_version: DataVersion = field(default_factory=DataVersion, name="dataVersion")
    offsets: dict[str, dict[int, int]] = field(default_factory=dict, name="offsetTable")
    # How far consumers had pulled when it was written, for people: nobody goes on with it.
    pulled: dict[str, dict[int, int]] = field(default_factory=dict, name="pullOffsetTable")


class ConsumerOffsets:
    """The file, and what was last written into it."""

    def __init__(self, file: TextFile, *, now_ms: Callable[[], int]) -> None:
        self._file = file
        self._now_ms = now_ms
        text = file.load()
        self._loaded = msgspec.json.decode(text, type=OffsetsFile) if text is not None else OffsetsFile()
        self._data_version = self._loaded.data_version
        self._saved_version: int | None = None
        self._has_altered = False

    @property
    def loaded(self) -> Mapping[str, Mapping[int, int]]:
        """What the file held at the start, by `topic@group` and queue."""
        return self._loaded.offsets

    @property
    def data_version(self) -> DataVersion:
        """The version of what the file holds."""
        return self._data_version

    def within(self, store: MessageStore) -> Mapping[str, Mapping[int, int]]:
        """What the file held, but no offset beyond the end of its queue: a group would skip what is sent next.

        A deletion that was cut short leaves such offsets, and so does a power loss that took messages along.
        """
        found = {
            key: {queue_id: min(offset, _end(store, key, queue_id)) for queue_id, offset in queues.items()}
            for key, queues in self.loaded.items()
        }
        self._has_altered = found != self.loaded
        return found

    def begin(self, source: OffsetSource) -> None:
        """Goes on from what the source holds now, which the file holds too afterwards."""
        if self._has_altered:
            self.save(source)
        self._saved_version = source.consumer_offsets_version()

    def save(self, source: OffsetSource) -> bool:
        """Writes the offsets if they have changed since they were written; whether they had."""
        # The version first: what changes while we copy is written the next time, and not forgotten.
        version = source.consumer_offsets_version()
        if version == self._saved_version:
            return False
        data_version = next_version(self._data_version, now_ms=self._now_ms())
        content = OffsetsFile(data_version, _copy(source.consumer_offsets()), _copy(source.pulled_offsets()))
        self._file.save(msgspec.json.encode(content).decode())
        self._data_version = data_version
        self._saved_version = version
        return True


def _end(store: MessageStore, key: str, queue_id: int) -> int:
    topic, _, _ = key.partition("@")
    return queue_facts.bounds(store, topic, queue_id)[1]


def _copy(offsets: Mapping[str, Mapping[int, int]]) -> dict[str, dict[int, int]]:
    return {key: dict(queues) for key, queues in offsets.items()}
