"""Values that operators keep survive a restart, and a disk that refuses them changes nothing."""

import os
from pathlib import Path

import pytest
from tests.golden.name_server_conversation import GET_KV, PUT_KV
from tests.unit.namesrv.desk import Desk, KeptInMemory

from escrowmq.errors import ConfigError
from escrowmq.namesrv.durable_file import DurableFile
from escrowmq.namesrv.kv_config import KvConfig
from escrowmq.protocol.response_codes import ResponseCode

SKY = {"namespace": "colours", "key": "sky"}


def test_what_was_put_survives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "made" / "kvConfig.json"
    KvConfig(DurableFile(path)).put("colours", "sky", "blue")
    again = KvConfig(DurableFile(path))
    assert again.get("colours", "sky") == "blue"
    again.delete("colours", "sky")
    assert KvConfig(DurableFile(path)).get("colours", "sky") is None


def test_the_file_is_rocketmqs() -> None:
    kept = KeptInMemory(b'{"configTable":{"colours":{"sky":"blue"}}}')
    assert KvConfig(kept).namespace("colours") == {"sky": "blue"}
    KvConfig(kept).put("colours", "sea", "green")
    assert kept.content == b'{"configTable":{"colours":{"sky":"blue","sea":"green"}}}'


def test_a_full_disk_refuses_the_value_and_keeps_the_old() -> None:
    desk = Desk()
    desk.ask(PUT_KV, {**SKY, "value": "blue"})
    desk.kept.is_full = True
    answer = desk.ask(PUT_KV, {**SKY, "value": "red"})
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "OSError: [Errno 28] No space left on device")
    assert desk.ask(GET_KV, SKY).ext_fields == {"value": "blue"}


def test_a_file_that_is_no_table_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "kvConfig.json"
    path.write_bytes(b'{"configTable":')
    with pytest.raises(ConfigError, match="can't be read"):
        KvConfig(DurableFile(path))
    assert path.read_bytes() == b'{"configTable":'


def test_a_file_is_never_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sync fails, as if the disk did, when the new content stands beside the old."""
    file = DurableFile(tmp_path / "kvConfig.json")
    file.write(b"old")

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"):
        file.write(b"new")
    assert file.read() == b"old"
    assert list(tmp_path.iterdir()) == [file.path]
