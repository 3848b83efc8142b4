"""`escrowmq store`: what it says of whole stores, damaged ones and none."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.golden.recordings import OPTIONS, unpack_store
from tests.opening import fingerprint

from escrowmq import Message, Store
from escrowmq.cli.main import main

SMALL: dict[str, Any] = {
    "segment_size_bytes": 1 << 16,
    "queue_file_entries": 1_000,
    "index_slots": 100,
    "index_entries": 1_000,
    "disk_refuse_ratio": 1.0,
}
SIZES = ("--set=store.index_slots=100", "--set=store.index_entries=1000")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["store", *map(str, arguments)])


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A store of 400 messages in three log files that was closed in order."""
    folder = tmp_path / "store"
    with Store.open(folder, **SMALL) as store:
        messages = [Message("orders", b"x" * 400, queue_id=n % 2, tags="paid", keys=f"k{n}") for n in range(400)]
        store.wait_visible(store.append(messages).end_offset)
    return folder


def test_a_store_is_shown_to_people(closed: Path) -> None:
    shown = run("inspect", *SIZES, closed)
    assert shown.exit_code == 0, shown.output
    assert "last stop      in order" in shown.output
    assert "key index      800 entries in 1 file" in shown.output
    assert "│ orders │      2 │      400 │         200 │" in shown.output


def test_a_store_is_shown_to_programs(closed: Path) -> None:
    shown = json.loads(run("inspect", "--json", *SIZES, closed).stdout)
    assert shown["queues"] == [
        {"topic": "orders", "queue_id": queue_id, "min_offset": 0, "max_offset": 200} for queue_id in (0, 1)
    ]
    assert shown["path"] == str(closed)
    assert (shown["holder"], shown["was_killed"]) == (None, False)
    assert shown["log_end"] > shown["log_start"] == 0
    assert shown["checkpoint_log_ms"] >= shown["newest_ms"] >= shown["oldest_ms"]
    assert [file["entries"] for file in shown["index_files"]] == [800]


def test_a_whole_store_is_whole(closed: Path) -> None:
    checked = run("verify", *SIZES, closed)
    assert (checked.exit_code, checked.stdout) == (0, f"{closed} is whole: 0 errors, 0 notes\n")
    found = json.loads(run("verify", "--json", *SIZES, closed).stdout)
    assert found == {"path": str(closed), "errors": 0, "notes": 0, "findings": []}


def test_an_index_of_unknown_sizes_is_a_note(closed: Path) -> None:
    checked = run("verify", closed)
    assert checked.exit_code == 0
    assert checked.stdout.endswith("is whole: 0 errors, 1 note\n")
    assert "not checked" in checked.stdout


def test_damage_is_named_with_its_offset(closed: Path) -> None:
    log = closed / "commitlog" / f"{0:020}"
    content = bytearray(log.read_bytes())
    content[200] ^= 0xFF
    log.write_bytes(content)
    checked = run("verify", "--json", *SIZES, closed)
    assert checked.exit_code == 1
    found = json.loads(checked.stdout)
    assert (found["errors"], found["notes"]) == (1, 0)
    (finding,) = found["findings"]
    assert (finding["severity"], finding["part"], finding["offset"]) == ("error", "log", 0)
    assert finding["path"] == str(log)
    assert "checksum" in finding["message"]
    table = run("verify", *SIZES, closed)
    assert table.exit_code == 1
    assert table.stdout.endswith("is damaged: 1 error, 0 notes\n")


def test_a_file_that_is_missing_is_damage(closed: Path) -> None:
    missing = closed / "commitlog" / f"{1 << 16:020}"
    missing.unlink()
    checked = run("verify", closed)
    assert checked.exit_code == 1
    assert str(missing) in checked.stderr


@pytest.mark.parametrize("command", ["inspect", "verify"])
def test_what_is_no_store_is_none(tmp_path: Path, command: str) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        looked = run(command, folder)
        assert looked.exit_code == 3
        assert str(folder) in looked.stderr
    assert not list(tmp_path.iterdir())
    assert run(command, "--set=store.indx_slots=1", tmp_path).exit_code == 2


def test_a_store_that_is_open_is_shown_with_a_warning_and_not_verified(tmp_path: Path) -> None:
    with Store.open(tmp_path, **SMALL) as store:
        shown = run("inspect", tmp_path)
        assert shown.exit_code == 0
        assert shown.stderr == f"process {os.getpid()} has the store open: it goes on meanwhile\n"
        checked = run("verify", tmp_path)
        assert checked.exit_code == 3
        assert "stop it, or verify a copy" in checked.stderr
        store.append([Message("orders", b"it is open still")])


@pytest.mark.parametrize("name", ["clean", "killed"])
def test_a_store_that_apache_wrote_is_whole(tmp_path: Path, name: str) -> None:
    folder = unpack_store(name, tmp_path)
    before = fingerprint(folder)
    sizes = [f"--set=store.{name}={value}" for name, value in OPTIONS.items()]
    assert run("inspect", *sizes, folder).exit_code == 0
    checked = run("verify", "--json", *sizes, folder)
    assert checked.exit_code == 0, checked.output
    assert not any(finding["part"] == "index" for finding in json.loads(checked.stdout)["findings"])
    assert fingerprint(folder) == before


def test_who_watches_sees_how_far_it_is(closed: Path) -> None:
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "escrowmq", "store", "verify", str(closed)]
    done = subprocess.run(
        command, stderr=follower, stdout=subprocess.PIPE, env={**os.environ, "TERM": "xterm"}, check=True
    )
    os.close(follower)
    drawn = os.read(leader, 65_536)
    os.close(leader)
    assert b"checking" in drawn
    assert b"checking" not in done.stdout


def test_a_store_whose_topic_was_deleted_is_not_damaged(tmp_path: Path) -> None:
    with Store.open(tmp_path, **SMALL) as store:
        store.wait_visible(store.append([Message("orders", b"one"), Message("others", b"two")]).end_offset)
        store.delete_topics(["orders"])
        store.wait_visible(store.append([Message("orders", b"anew")]).end_offset)
    verified = run("verify", *SIZES, tmp_path)
    assert verified.exit_code == 0, verified.output
