"""delayOffset.json: how far each level is delivered, in RocketMQ's format."""

from collections.abc import Callable, Mapping

import msgspec

from escrowmq.broker.data_version import next_version
from escrowmq.broker.ports import TextFile
from escrowmq.model.data_version import DataVersion
from escrowmq.protocol.bodies.delay_offsets import DelayOffsets


class DelayOffsetsFile:
    """The file, and what was last written into it."""

    def __init__(self, file: TextFile, *, wall_ms: Callable[[], int]) -> None:
        self._file = file
        self._wall_ms = wall_ms
        text = file.load()
        self._saved = (
            msgspec.json.decode(text, type=DelayOffsets)
            if text is not None
            else DelayOffsets(DataVersion(timestamp_ms=wall_ms()))
        )

    @property
    def saved(self) -> DelayOffsets:
        """What the file holds."""
        return self._saved

    def save(self, offsets: Mapping[int, int]) -> bool:
        """Writes the offsets, durably, if they have changed; whether they had. Those of other levels stay."""
        changed = {**self._saved.offsets, **offsets}
        if changed == self._saved.offsets:
            return False
        content = DelayOffsets(next_version(self._saved.data_version, now_ms=self._wall_ms()), changed)
        self._file.save(msgspec.json.encode(content).decode())
        self._saved = content
        return True
