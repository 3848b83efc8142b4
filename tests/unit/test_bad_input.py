"""Bad input gets its own error with the facts in it, and the store does not change."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.opening import SEGMENT_SIZE, every_record, fingerprint, open_small

from escrowmq import Message, Store, errors

OTHER_USER = 65_534


@pytest.fixture
def closed(folder: Path) -> Path:
    """The folder of a closed store with a few segments and queue files."""
    with open_small(folder) as store:
        for start in range(0, 200, 20):
            batch = [Message("orders", bytes([number % 251]) * 300) for number in range(start, start + 20)]
            store.wait_visible(store.append(batch).end_offset)
    return folder


def refused(folder: Path, error: type[errors.EscrowError]) -> errors.EscrowError:
    """Opens a store that must be refused with `error`, and checks that not a byte of it changes."""
    before = fingerprint(folder)
    with pytest.raises(error) as caught:
        open_small(folder)
    assert fingerprint(folder) == before
    return caught.value


def segments(folder: Path) -> list[Path]:
    return sorted((folder / "commitlog").iterdir())


def test_a_file_that_is_not_a_log(closed: Path) -> None:
    first = segments(closed)[0]
    first.write_bytes(b"this is not a log".ljust(SEGMENT_SIZE, b"."))
    error = refused(closed, errors.NotALog)
    assert isinstance(error, errors.NotALog)
    assert error.path == str(first)
    assert "magic" in error.reason


def test_a_truncated_file(closed: Path) -> None:
    truncated = segments(closed)[1]
    os.truncate(truncated, SEGMENT_SIZE - 100)
    error = refused(closed, errors.WrongSize)
    assert isinstance(error, errors.WrongSize)
    assert (error.path, error.expected, error.found) == (str(truncated), SEGMENT_SIZE, SEGMENT_SIZE - 100)


def test_a_wrong_size(closed: Path) -> None:
    longer = segments(closed)[-1]
    os.truncate(longer, SEGMENT_SIZE + 4_096)
    error = refused(closed, errors.WrongSize)
    assert isinstance(error, errors.WrongSize)
    assert (error.path, error.found) == (str(longer), SEGMENT_SIZE + 4_096)


def test_a_hole_in_the_log(closed: Path) -> None:
    gone = segments(closed)[1]
    gone.unlink()
    error = refused(closed, errors.MissingFile)
    assert isinstance(error, errors.MissingFile)
    assert error.missing == str(gone)
    assert error.next == str(segments(closed)[1])


@pytest.mark.parametrize("name", ["notes.txt", "0000", "00000000000000000001", "00000000000000016384.bak"])
def test_a_foreign_file_in_the_log(closed: Path, name: str) -> None:
    foreign = closed / "commitlog" / name
    foreign.write_bytes(bytes(SEGMENT_SIZE))
    error = refused(closed, errors.ForeignFile)
    assert isinstance(error, errors.ForeignFile)
    assert error.path == str(foreign)
    assert error.kind == "commit log"


@pytest.mark.parametrize(
    ("path", "feature"),
    [
        ("batchconsumequeue/topic/0/00000000000000000000", "batch consume queues"),
        ("compaction/compactionLog/topic/0/00000000000000000000", "compaction topics"),
        ("consumequeue/CURRENT", "RocksDB queues"),
        ("consumequeue_rocksdb/CURRENT", "RocksDB queues"),
        ("consumequeue_ext/topic/0/00000000000000000000", "consume queue extensions"),
        ("commitlog/dledger-n0/00000000000000000000", "DLedger"),
        ("dledger-n0/data/00000000000000000000", "DLedger"),
    ],
)
def test_a_store_of_another_kind(closed: Path, path: str, feature: str) -> None:
    (closed / path).parent.mkdir(parents=True, exist_ok=True)
    (closed / path).write_bytes(b"x")
    error = refused(closed, errors.UnsupportedStore)
    assert isinstance(error, errors.UnsupportedStore)
    assert error.feature == feature


def test_a_folder_that_holds_something_else(tmp_path: Path) -> None:
    (tmp_path / "escrowmq").mkdir()
    (tmp_path / "thesis.tex").write_text("not to be touched")
    error = refused(tmp_path, errors.ForeignFile)
    assert isinstance(error, errors.ForeignFile)
    assert error.kind == "store"
    assert "holds no store" in str(error)


def test_a_fresh_mount_point_may_become_a_store(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    (tmp_path / ".Trash").mkdir()
    open_small(tmp_path).close()


def test_a_store_with_several_log_paths(closed: Path) -> None:
    """Apache deals log files out to its paths in turn, so each has every second one."""
    for segment in segments(closed)[1::2]:
        segment.unlink()
    assert len(segments(closed)) > 2
    error = refused(closed, errors.UnsupportedStore)
    assert isinstance(error, errors.UnsupportedStore)
    assert error.feature == "several log paths"


def test_a_log_file_whose_name_no_offset_can_have(closed: Path) -> None:
    for segment in segments(closed):
        segment.unlink()
    last = closed / "commitlog" / str(2**64 - SEGMENT_SIZE)
    last.write_bytes(bytes(SEGMENT_SIZE))
    assert isinstance(refused(closed, errors.ForeignFile), errors.ForeignFile)


def test_a_stop_note_of_any_size_is_only_a_note(closed: Path) -> None:
    with (closed / "escrowmq" / "stop").open("wb") as note:
        note.truncate(1 << 40)
    with open_small(closed) as store:
        assert len(every_record(store)) == 200


def test_what_an_apache_broker_leaves_at_every_stop_is_no_feature(closed: Path) -> None:
    for path in ("compaction/position-checkpoint", "rocksdbstore/CURRENT", "timerwheel"):
        (closed / path).parent.mkdir(parents=True, exist_ok=True)
        (closed / path).write_bytes(b"{}")
    open_small(closed).close()


def test_a_store_that_is_open_in_this_process(folder: Path) -> None:
    with open_small(folder), pytest.raises(errors.StoreInUse) as caught:
        open_small(folder)
    assert caught.value.path == str(folder)
    assert "this process" in caught.value.holder
    assert caught.value.retriable


def test_a_store_that_is_open_by_another_name(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other-name").symlink_to(folder, target_is_directory=True)
    with open_small(folder), pytest.raises(errors.StoreInUse):
        open_small(tmp_path / "other-name")


def test_a_store_that_is_open_in_another_process(closed: Path) -> None:
    script = (
        "import sys, pathlib\n"
        "from tests.opening import open_small\n"
        "with open_small(pathlib.Path(sys.argv[1])): print('open', flush=True), sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(closed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(errors.StoreInUse) as caught:
            open_small(closed)
        assert "another process" in caught.value.holder
        other.stdin.close()
    with open_small(closed) as store:
        assert len(every_record(store)) == 200


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("not a folder", encoding="utf-8")
    with pytest.raises(errors.IoFailure) as caught:
        open_small(tmp_path / "store")
    assert str(tmp_path / "store") in caught.value.path
    assert (tmp_path / "store").read_text(encoding="utf-8") == "not a folder"


def run_as_other_user(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a script without the power to read everything: as another user, if we are root."""
    drop = f"import os; os.setgid({OTHER_USER}); os.setuid({OTHER_USER})\n" if os.geteuid() == 0 else ""
    # Modules are loaded before the user changes: the other one may not be allowed to read them.
    script = f"import sys, pathlib\nfrom tests.opening import open_small\n{drop}{script}"
    return subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)


def test_no_permission(closed: Path) -> None:
    for parent in closed.parents[:4]:
        if parent.owner() == Path.home().owner() and os.geteuid() == 0 and parent != Path("/tmp"):  # noqa: S108
            parent.chmod(0o755)
    (closed / "lock").chmod(0o000)
    closed.chmod(0o555)
    before = fingerprint(closed) if os.geteuid() == 0 else None
    done = run_as_other_user(
        "from escrowmq import errors\n"
        "try: open_small(pathlib.Path(sys.argv[1]))\n"
        "except errors.PermissionDenied as error: print(error.action, error.path)",
        str(closed),
    )
    closed.chmod(0o755)
    assert done.stderr == ""
    assert str(closed) in done.stdout
    if before is not None:
        assert fingerprint(closed) == before


@pytest.mark.parametrize(
    ("message", "field", "found", "limit"),
    [
        (Message("white space", b""), "topic", None, None),
        (Message("", b""), "topic", None, None),
        (Message("../escape", b""), "topic", None, None),
        (Message("ümlaut", b""), "topic", None, None),
        (Message("t" * 128, b""), "topic", None, None),
        (Message("orders", bytes(5_001)), "body", 5_001, 5_000),
        (Message("orders", b"", properties={"p": "x" * 32_767}), "properties", 32_770, 32_767),
        (Message("orders", b"", properties=b"a\x01\x00\x02"), "properties", None, None),
        (Message("orders", b"", queue_id=-1), "queue_id", -1, 2**31 - 1),
    ],
    ids=lambda value: repr(value)[:40] if isinstance(value, Message) else None,
)
def test_a_message_that_cannot_be_stored(
    folder: Path, message: Message, field: str, found: int | None, limit: int | None
) -> None:
    with open_small(folder, body_size_max_bytes=5_000, checkpoint_interval_ms=3_600_000) as store:
        store.wait_visible(store.append([Message("orders", b"good")]).end_offset)
        end, before = store.log_end, fingerprint(folder)
        with pytest.raises(errors.BadMessage) as caught:
            store.append([Message("orders", b"good"), message, Message("orders", b"good")])
        error = caught.value
        assert (error.index, error.field, error.found, error.limit) == (1, field, found, limit)
        assert str(error).startswith("message 1 of the batch: ")
        # Nothing of the batch was taken, the good messages in it included.
        assert store.log_end == end
        assert fingerprint(folder) == before
        assert store.append([Message("orders", b"good")])[0].queue_offset == 1


def test_a_record_larger_than_a_segment(folder: Path) -> None:
    with open_small(folder) as store:
        with pytest.raises(errors.BadMessage) as caught:
            store.append([Message("orders", bytes(SEGMENT_SIZE))])
        assert caught.value.field == "record"
        assert caught.value.limit is not None
        assert caught.value.limit < SEGMENT_SIZE
        assert store.log_end == 0


@pytest.mark.parametrize("queue_id", [2**31, -(2**31) - 1])
def test_a_queue_beyond_the_format(queue_id: int) -> None:
    with pytest.raises(OverflowError):
        Message("orders", b"", queue_id=queue_id)


@pytest.mark.parametrize("options", [{"flush": "sometimes"}, {"store_host": "nowhere"}])
def test_an_option_that_makes_no_sense(folder: Path, options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="expected"):
        open_small(folder, **options)
    assert not folder.exists()


@pytest.mark.parametrize(
    "options",
    [
        {"segment_size_bytes": 0},
        {"segment_size_bytes": 2**40},
        {"queue_file_entries": 0},
        {"index_slots": 0},
        {"index_entries": 0},
        {"checkpoint_interval_ms": 0},
        {"retention_hour": 24},
        {"disk_clean_ratio": -0.5},
        {"disk_refuse_ratio": float("nan")},
    ],
    ids=str,
)
def test_an_option_that_no_store_can_be_made_with(folder: Path, options: dict[str, float]) -> None:
    with pytest.raises(errors.BadOption) as caught:
        open_small(folder, **options)
    assert caught.value.found in str(caught.value)
    assert caught.value.expected in str(caught.value)
    assert not folder.exists()


def test_a_disk_that_is_too_full(folder: Path) -> None:
    """Any disk is fuller than nothing at all."""
    with open_small(folder, disk_refuse_ratio=0.0) as store:
        store.expire()
        with pytest.raises(errors.DiskFull) as caught:
            store.append([Message("orders", b"")])
        assert caught.value.path == str(folder)
        assert caught.value.used_percent is not None
        assert caught.value.refuse_percent == 0
        assert caught.value.retriable
        assert store.log_end == 0


def test_a_log_that_is_torn_in_the_middle_is_cut_there(closed: Path) -> None:
    """Not an error: what a crash leaves. The records before the tear stay, and the log goes on from there."""
    with open_small(closed) as store:
        torn = store.log_end // SEGMENT_SIZE * SEGMENT_SIZE
        before_the_tear = [record.log_offset for record in every_record(store) if record.log_offset < torn]
    (closed / "abort").write_text("1", encoding="utf-8")
    with (closed / "commitlog" / f"{torn:020}").open("r+b") as segment:
        segment.seek(100)
        segment.write(b"\xff" * 100)
    with open_small(closed) as store:
        assert store.recovery_report.has_cut_log
        assert store.recovery_report.end_reason
        assert store.log_end <= torn
        assert [record.log_offset for record in every_record(store)] == before_the_tear
        assert store.append([Message("orders", b"next")])[0].queue_offset == len(before_the_tear)


def test_store_is_the_only_way_in() -> None:
    with pytest.raises(TypeError):
        Store()
