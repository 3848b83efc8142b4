"""Memory as on a machine that has been up for a while: full of what was read from files.

A virtual machine may have lent its free memory to its host. Taking it back costs some ten microseconds a page, ten
times what a page costs that the machine has: that would be a bench of the host, not of a broker.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.processes import ROOT

PIECE_BYTES = 1 << 20


@contextmanager
def filled_memory() -> Iterator[None]:
    """Reads a file of holes as large as what is free. The system drops it, bit by bit, for whoever needs memory."""
    piece = bytearray(PIECE_BYTES)
    with tempfile.NamedTemporaryFile(prefix="escrowmq-memory-", dir=ROOT / "target", buffering=0) as file:
        file.truncate(_free_bytes())
        while file.readinto(piece):
            pass
        yield


def _free_bytes() -> int:
    lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    kibibytes = next(line.split()[1] for line in lines if line.startswith("MemFree:"))
    return int(kibibytes) * 1024
