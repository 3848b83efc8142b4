"""How a store of ours may come to its end: closed in order, or its writer killed and the end of the log spoilt.

Each ending writes a new store and returns what its writer acknowledged.
"""

import itertools
import json
import random
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.interop import ours, raw_log, scenario
from tests.interop.installation import HERE
from tests.interop.scenario import Acknowledged, Receipt

# Enough for every queue of "orders" to fill more than one file.
BATCHES = 90


def closed(store: Path) -> Acknowledged:
    """An orderly end."""
    acknowledged: Acknowledged = {}
    with ours.open_store(store) as opened:
        for batch in itertools.islice(scenario.batches(), BATCHES):
            acknowledged |= ours.append(opened, batch)
    return acknowledged


def killed(store: Path) -> Acknowledged:
    """SIGKILL while the writer appends; what it managed to say before counts."""
    command = [sys.executable, "-m", "tests.interop.writer", str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HERE.parent.parent) as writer:
        assert writer.stdout is not None
        try:
            lines = list(itertools.islice(writer.stdout, BATCHES))
        finally:
            writer.kill()
        lines += writer.stdout
    assert writer.returncode == -signal.SIGKILL, f"the writer ended by itself with {writer.returncode}"
    # The last line may be torn, like anything that a kill interrupts.
    said = [json.loads(line) for line in lines if line.endswith("\n")]
    return {number: Receipt(*receipt) for batch in said for number, receipt in batch}


def killed_with_noise_after_the_end(store: Path) -> Acknowledged:
    """A page beyond the last record that reached the disk with whatever was in memory."""
    acknowledged = killed(store)
    raw_log.write_at(store, _log_end(store), random.Random(5).randbytes(1000))
    return acknowledged


def killed_with_half_a_record_at_the_end(store: Path) -> Acknowledged:
    """A record whose head reached the disk and whose rest did not."""
    acknowledged = killed(store)
    end = _log_end(store)
    model = next(record for record in reversed(list(raw_log.records(store))) if record.body.startswith(b"large"))
    torn = bytearray(raw_log.read_at(store, model.offset, model.size))
    struct.pack_into(">q", torn, raw_log.PHYSICAL_OFFSET_AT, end)
    middle = model.body_at + len(model.body) // 2
    raw_log.write_at(store, end, bytes(torn[:middle]) + bytes(len(torn) - middle))
    return acknowledged


def killed_with_a_hostile_size_at_the_end_then_repaired(store: Path) -> Acknowledged:
    """A size that would make Apache allocate two gigabytes; opening and closing the store removes it."""
    acknowledged = killed(store)
    raw_log.write_at(store, _log_end(store), struct.pack(">II", 0x7FFF_FFFF, raw_log.MAGIC_V1) + b"\xff" * 400)
    ours.open_store(store).close()
    return acknowledged


ALL: Sequence[Callable[[Path], Acknowledged]] = (
    closed,
    killed,
    killed_with_noise_after_the_end,
    killed_with_half_a_record_at_the_end,
    killed_with_a_hostile_size_at_the_end_then_repaired,
)


def _log_end(store: Path) -> int:
    return max(record.end for record in raw_log.records(store))
