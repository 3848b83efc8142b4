"""`escrowmq store recover`: a store that a kill left is one that Apache's broker asks the right questions about."""

import json
import os
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from tests.opening import fingerprint
from tests.unit.transaction import seed_scan
from tests.unit.transaction.room_desk import GROUP, Crash, RoomDesk

from escrowmq import Store
from escrowmq.cli.main import main
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.topics import OP_TOPIC

SIZES = ("--set=store.index_slots=100", "--set=store.index_entries=400")
KEYS = [f"RMQ_SYS_TRANS_{name}TOPIC@CID_RMQ_SYS_TRANS" for name in ("HALF_", "OP_HALF_")]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["store", *map(str, arguments)])


def progress(folder: Path) -> tuple[int, int]:
    """How far an Apache broker begins behind."""
    saved = msgspec.json.decode((folder / "config" / "consumerOffset.json").read_bytes())
    half, op = (saved["offsetTable"][key]["0"] for key in KEYS)
    return half, op


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A store of three transactions: one is decided, one has its final record and no op, one is undecided."""
    folder = tmp_path / "store"
    room = RoomDesk(folder)
    first, second, _ = (room.prepare(name) for name in ("decided", "cut", "undecided"))
    room.end(first, Decision.COMMIT)
    room.crash_after(1)
    with pytest.raises(Crash):
        room.end(second, Decision.COMMIT)
    end = room.store.log_end
    room.store.abandon()
    with (folder / "commitlog" / f"{0:020}").open("r+b") as log:
        log.seek(end)
        log.write(b"half a record")
    return folder


def asked_by_apache(folder: Path) -> list[int]:
    """The half messages that a broker which knows nothing of ours would ask about."""
    half, op = progress(folder)
    with Store.open(folder, disk_refuse_ratio=1.0) as store:
        later_ms = next(iter(store.iterate(OP_TOPIC, 0))).store_timestamp_ms + 3_600_000
        scan = seed_scan.check(store, half, op, now_ms=later_ms, checks_max=1_000)
    assert scan is not None
    return list(scan.asked)


def test_a_killed_store_is_made_whole(killed: Path) -> None:
    done = run("recover", "--json", *SIZES, killed)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found.pop("log_end") > 0
    assert found == {
        "path": str(killed),
        "was_killed": True,
        "has_cut_log": True,
        "marked": 1,
        "pending": 1,
        "half_offset": 2,
        "op_offset": 2,
        "has_moved_progress": True,
    }
    assert progress(killed) == (2, 2)
    assert run("verify", *SIZES, killed).exit_code == 0
    assert asked_by_apache(killed) == [2]


def test_without_it_an_apache_broker_would_ask_about_what_is_decided(killed: Path) -> None:
    """The last test proves nothing unless this one holds."""
    with Store.open(killed, disk_refuse_ratio=1.0) as store:
        scan = seed_scan.check(store, 0, 0, now_ms=store.record_at(0).store_timestamp_ms + 3_600_000, checks_max=1_000)
    assert scan is not None
    assert list(scan.asked) == [1, 2]


def test_how_many_are_pending_is_written_down_as_apache_s_broker_reads_it(killed: Path) -> None:
    assert run("recover", *SIZES, killed).exit_code == 0
    written = json.loads((killed / "config" / "transactionMetrics").read_text())
    (count,) = written["transactionCount"].items()
    assert (count[0], count[1]["count"]) == ("orders", 1)
    assert count[1]["timeStamp"] == written["dataVersion"]["timestamp"] > 0
    assert written["dataVersion"]["counter"] == 1


def test_a_second_time_nothing_is_left_to_do(killed: Path) -> None:
    assert run("recover", *SIZES, killed).exit_code == 0
    log = (killed / "commitlog" / f"{0:020}").read_bytes()
    offsets = (killed / "config" / "consumerOffset.json").stat().st_mtime_ns
    found = json.loads(run("recover", "--json", *SIZES, killed).stdout)
    assert (found["was_killed"], found["has_cut_log"], found["marked"], found["has_moved_progress"]) == (
        False,
        False,
        0,
        False,
    )
    assert (killed / "commitlog" / f"{0:020}").read_bytes() == log
    assert (killed / "config" / "consumerOffset.json").stat().st_mtime_ns == offsets


def test_other_groups_keep_their_offsets(killed: Path) -> None:
    offsets = killed / "config" / "consumerOffset.json"
    offsets.parent.mkdir(exist_ok=True)
    offsets.write_text('{"offsetTable":{"orders@billing":{"1":1}}}')
    assert run("recover", *SIZES, killed).exit_code == 0
    assert msgspec.json.decode(offsets.read_bytes())["offsetTable"]["orders@billing"] == {"1": 1}


def test_what_it_did_is_told_to_people(killed: Path) -> None:
    shown = run("recover", *SIZES, killed).stdout
    assert "last stop   none, or a kill" in shown
    assert "its torn end was cut" in shown
    assert "op records  written for 1 decided transaction " in shown
    assert "progress    half messages 2, op records 2, written down " in shown
    assert "undecided   1 transaction " in shown


def test_a_store_in_use_is_left_alone(tmp_path: Path) -> None:
    room = RoomDesk(tmp_path)
    try:
        room.prepare("undecided")
        refused = run("recover", *SIZES, tmp_path)
        assert refused.exit_code == 3
        assert str(os.getpid()) in refused.stderr or "in use" in refused.stderr
        assert refused.stderr.endswith(": stop it first\n")
        assert room.index.find_undecided(GROUP, "undecided") is not None
    finally:
        room.close()


def test_what_is_no_store_does_not_become_one(tmp_path: Path) -> None:
    before = fingerprint(tmp_path)
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert run("recover", folder).exit_code == 3
    assert run("recover", "--set=store.indx_slots=1", tmp_path).exit_code == 2
    assert fingerprint(tmp_path) == before


def test_a_damaged_store_is_named(killed: Path) -> None:
    (killed / "commitlog" / f"{0:020}").rename(killed / "commitlog" / f"{1 << 20:020}")
    (killed / "commitlog" / "stray").write_text("no log file")
    refused = run("recover", *SIZES, killed)
    assert (refused.exit_code, "stray" in refused.stderr) == (1, True)
