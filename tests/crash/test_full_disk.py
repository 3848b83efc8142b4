"""A disk that is really full: a clear error, no SIGBUS, nothing acknowledged after it, nothing lost from before.

A small file system needs a mount, which an ordinary user may do in a namespace of their own; where that is forbidden,
the test is skipped by name. EIO and a disk that fills at any chosen write are injected in rust/store.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]
DISK_SIZE = "400k"
BALLAST = "100k"

FILL = """
import contextlib, sys
from pathlib import Path
from tests.opening import every_record, open_small
from escrowmq import Message
from escrowmq.errors import DiskFull

def check(store):
    assert [record.body[0] for record in every_record(store)] == [n % 251 for n in range(acknowledged)]

folder = Path(sys.argv[1]) / "store"
acknowledged, refused = 0, 0
store = open_small(folder)
while refused < 20:
    try:
        receipts = store.append([Message("orders", bytes([acknowledged % 251]) * 1000)])
        store.wait_visible(receipts.end_offset)
        acknowledged += 1
    except DiskFull as error:
        assert error.retriable
        refused += 1
check(store)
# A note for the next start may not find room any more; then that start has to look for itself.
with contextlib.suppress(DiskFull):
    store.close()
Path(sys.argv[1], "ballast").unlink()
with open_small(folder) as store:
    check(store)
    store.wait_visible(store.append([Message("orders", b"room again")]).end_offset)
print(acknowledged, refused)
"""


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    probe = [*NAMESPACE, "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="a small file system needs a mount, which this user may not do")
def test_a_full_disk_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    mount = (
        f'mount -t tmpfs -o size={DISK_SIZE} tmpfs "$0" && head -c {BALLAST} /dev/zero > "$0/ballast" && '
        'exec "$1" -c "$2" "$0"'
    )
    done = subprocess.run(
        [*NAMESPACE, "sh", "-c", mount, str(tmp_path), sys.executable, FILL],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    acknowledged, refused = map(int, done.stdout.split())
    assert acknowledged > 10
    assert refused == 20


DECISIONS_LAST = """
import sys
from pathlib import Path
from tests.unit.transaction.room_desk import RoomDesk
from escrowmq.errors import DiskFull
from escrowmq.transaction.decisions import Decision

disk = Path(sys.argv[1])
room = RoomDesk(disk / "store", disk_refuse_ratio=0.5)
pending = [room.prepare(str(number)) for number in range(20)]
(disk / "ballast").write_bytes(bytes(8 << 20))
room.store.expire()
refused = 0
for number in range(20, 30):
    try:
        room.prepare(str(number))
    except DiskFull:
        refused += 1
codes = {int(room.end(place, Decision.COMMIT if n % 2 else Decision.ROLLBACK).code) for n, place in enumerate(pending)}
print(refused, sorted(codes), len(room.delivered()), room.pending())
room.reopen()
print(len(room.delivered()), room.pending())
"""


@pytest.mark.skipif(not can_mount(), reason="a small file system needs a mount, which this user may not do")
def test_on_a_nearly_full_disk_prepares_are_refused_and_decisions_last(tmp_path: Path) -> None:
    mount = 'mount -t tmpfs -o size=12m tmpfs "$0" && exec "$1" -c "$2" "$0"'
    command = [*NAMESPACE, "sh", "-c", mount, str(tmp_path), sys.executable, DECISIONS_LAST]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("10 [0] 10 []\n10 []\n", 0), done.stderr


SPARSE = """
import contextlib, sys
from pathlib import Path
from tests.opening import every_record, open_small
from escrowmq import Message
from escrowmq.errors import DiskFull

folder = Path(sys.argv[1]) / "store"
with open_small(folder, segment_size_bytes=48 << 20) as store:
    store.wait_visible(store.append([Message("orders", b"before")]).end_offset)
# As Apache leaves a segment: its whole size, and blocks only for what was written.
segment = folder / "commitlog" / "00000000000000000000"
used = segment.read_bytes().rstrip(bytes(1))
segment.unlink()
with segment.open("wb") as file:
    file.write(used)
    file.truncate(48 << 20)
store = open_small(folder)
with contextlib.suppress(OSError), open(Path(sys.argv[1]) / "more", "wb", buffering=0) as more:
    while True:
        more.write(bytes(4096))
try:
    # More than a store keeps resident ahead of its end: the rest of the segment has no blocks, and gets none.
    for _ in range(12):
        store.append([Message("orders", bytes(3_500_000))])
except DiskFull:
    print("refused", [bytes(record.body) for record in every_record(store)])
"""


@pytest.mark.skipif(not can_mount(), reason="a small file system needs a mount, which this user may not do")
def test_a_sparse_segment_on_a_full_disk_is_an_error_and_no_fault(tmp_path: Path) -> None:
    mount = 'mount -t tmpfs -o size=64m tmpfs "$0" && exec "$1" -c "$2" "$0"'
    command = [*NAMESPACE, "sh", "-c", mount, str(tmp_path), sys.executable, SPARSE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("refused [b'before']\n", 0), done.stderr


LIMIT = """
import resource, sys
from pathlib import Path
from tests.opening import every_record, open_small
from escrowmq import Message
from escrowmq.errors import StoreError

folder = Path(sys.argv[1])
with open_small(folder) as store:
    store.wait_visible(store.append([Message("orders", b"before")]).end_offset)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    open_small(folder, segment_size_bytes=1 << 20).close()
    with open_small(folder) as store:
        for _ in range(40):
            store.wait_visible(store.append([Message("orders", bytes(1000))]).end_offset)
except StoreError as error:
    print(type(error).__name__, error)
"""


def test_a_limit_on_file_sizes_is_an_error_too(folder: Path) -> None:
    """RLIMIT_FSIZE makes the next segment impossible without root: EFBIG where a full disk gives ENOSPC."""
    done = subprocess.run([sys.executable, "-c", LIMIT, str(folder)], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0
    assert done.stdout.startswith("IoFailure create ")
