"""consumerOffset.json: read as RocketMQ wrote it, written when something has changed."""

from collections.abc import Mapping
from pathlib import Path

from tests.golden.recordings import unpack_store
from tests.unit.broker.desk import TestStore, TextInMemory

from escrowmq._core import ConfigFile
from escrowmq.broker.consumer_offsets import ConsumerOffsets


class Source:
    """The offset table, with a version that changes with it."""

    def __init__(self, offsets: Mapping[str, Mapping[int, int]]) -> None:
        self.offsets = offsets
        self.pulled: dict[str, dict[int, int]] = {}
        self.version = 0

    def consumer_offsets(self) -> Mapping[str, Mapping[int, int]]:
        return self.offsets

    def pulled_offsets(self) -> Mapping[str, Mapping[int, int]]:
        return self.pulled

    def consumer_offsets_version(self) -> int:
        return self.version


def test_what_apache_wrote_is_read(tmp_path: Path) -> None:
    offsets = ConsumerOffsets(ConfigFile(unpack_store("clean", tmp_path), "consumerOffset.json"), now_ms=lambda: 0)
    assert offsets.loaded["orders@billing"] == {0: 11, 1: 11, 2: 10, 3: 11}


def test_offsets_are_saved_when_they_have_changed() -> None:
    file = TextInMemory('{"offsetTable":{"a@g":{"0":1}},"pullOffsetTable":{"a@g":{"0":2}}}')
    offsets = ConsumerOffsets(file, now_ms=lambda: 7)
    source = Source(offsets.loaded)
    offsets.begin(source)
    assert not offsets.save(source)
    source.offsets, source.version = {"a@g": {0: 5}}, 1
    source.pulled = {"a@g": {0: 6}}
    assert offsets.save(source)
    assert not offsets.save(source)
    assert file.value == {
        "dataVersion": {"counter": 1, "stateVersion": 0, "timestamp": 7},
        "offsetTable": {"a@g": {"0": 5}},
        "pullOffsetTable": {"a@g": {"0": 6}},
    }
    assert ConsumerOffsets(file, now_ms=lambda: 0).loaded == {"a@g": {0: 5}}


def test_an_offset_beyond_the_end_of_its_queue_is_at_its_end_also_after_another_kill() -> None:
    """A deletion that is cut short leaves offsets of queues that are gone; what is sent next would be skipped."""
    file = TextInMemory('{"offsetTable":{"gone@g":{"0":20},"cut@g":{"0":5,"1":2,"-1":1}}}')
    offsets = ConsumerOffsets(file, now_ms=lambda: 7)
    store = TestStore({("cut", 0): [1, 2, 3], ("cut", 1): [1, 2, 3]})
    found = {"gone@g": {0: 0}, "cut@g": {0: 3, 1: 2, -1: 0}}
    source = Source(offsets.within(store))
    assert source.offsets == found
    offsets.begin(source)
    again = ConsumerOffsets(file, now_ms=lambda: 8)
    assert again.loaded == found
    again.begin(Source(again.within(store)))
    assert file.saves == 1
