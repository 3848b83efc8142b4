"""Configuration files of a store: RocketMQ's JSON in, strict JSON out, and the version before beside it."""

import json
from pathlib import Path

import pytest

from escrowmq import Store
from escrowmq._core import ConfigFile
from escrowmq.errors import BadConfig


def test_what_is_saved_is_loaded_and_what_was_there_is_the_backup(tmp_path: Path) -> None:
    with Store.open(tmp_path):
        file = ConfigFile(tmp_path, "topics.json")
        assert file.load() is None
        file.save('{"a": 1}')
        file.save('{"a": 2}')
    assert file.path == tmp_path / "config" / "topics.json"
    assert json.loads(file.load() or "") == {"a": 2}
    assert json.loads(file.path.with_name("topics.json.bak").read_text()) == {"a": 1}


def test_a_broken_file_is_replaced_by_its_backup_and_broken_text_is_refused(tmp_path: Path) -> None:
    with Store.open(tmp_path):
        file = ConfigFile(tmp_path, "topics.json")
        file.save('{"a": 1}')
        file.save('{"a": 2}')
        with pytest.raises(BadConfig):
            file.save("{")
    file.path.write_text('{"a": ')
    assert json.loads(file.load() or "") == {"a": 1}


def test_numbers_as_keys_are_read_as_rocketmq_writes_them(tmp_path: Path) -> None:
    file = ConfigFile(tmp_path, "consumerOffset.json")
    file.path.parent.mkdir()
    file.path.write_text('{"offsetTable":{"orders@billing":{0:11,1:10}}}')
    assert json.loads(file.load() or "") == {"offsetTable": {"orders@billing": {"0": 11, "1": 10}}}


@pytest.mark.parametrize("name", ["", "..", "../topics.json", "/etc/passwd", "a/b", "a/"])
def test_a_name_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a file"):
        ConfigFile(tmp_path, name)
