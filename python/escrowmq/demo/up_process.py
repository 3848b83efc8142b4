"""`escrowmq up` as a process of its own: started, measured, killed and started again where it was."""

import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

STOP_WAIT_S: Final = 20.0

# All else is as it is when nothing is configured. Files of a gigabyte may not fit where temporary files go, and a disk
# that is nearly full must not spoil a demonstration.
FITS_ANYWHERE: Final = (
    "--set=store.segment_size_bytes=67108864",
    "--set=store.disk_clean_ratio=1.0",
    "--set=store.disk_force_ratio=1.0",
    "--set=store.disk_refuse_ratio=1.0",
)


class NotStarted(Exception):
    """The process ended before it listened. Why, it said on standard error."""


class UpProcess:
    """Listens from its making on. What it logs goes where our own standard error goes."""

    def __init__(self, data: Path, ports: Iterable[str]) -> None:
        """Starts it.

        Raises:
            NotStarted: It does not listen.
        """
        self._data = data
        command = [sys.executable, "-m", "escrowmq", "up", f"--data={data}", *ports, *FITS_ANYWHERE]
        began = time.perf_counter()
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own command
        said = self._read_until_ready()
        self.ready_after_s = time.perf_counter() - began
        found = re.search(r"^name server +(\S+)\nbroker +(\S+) ", said, flags=re.MULTILINE)
        if found is None:
            self.kill()
            raise NotStarted
        self.name_server, self.broker = found[1], found[2]

    def memory_mb(self) -> float:
        """Its resident memory, whatever it shares with others included."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) / 1_024

    def kill(self) -> None:
        """SIGKILL: it can put nothing in order any more."""
        self._process.kill()
        self.wait(STOP_WAIT_S)

    def start_again(self) -> "UpProcess":
        """The same once more after its end: same folder, same ports.

        Raises:
            NotStarted: It does not listen.
        """
        ports = (self.broker.rpartition(":")[2], self.name_server.rpartition(":")[2])
        return UpProcess(self._data, [f"--port={ports[0]}", f"--namesrv-port={ports[1]}"])

    def stop(self) -> int:
        """Asks it to stop in order; its exit status."""
        self._process.terminate()
        return self.wait(STOP_WAIT_S)

    def wait(self, timeout_s: float | None = None) -> int:
        """Its exit status, once it has ended."""
        status = self._process.wait(timeout_s)
        if self._process.stdout is not None:
            self._process.stdout.close()
        return status

    def _read_until_ready(self) -> str:
        said = ""
        for line in self._process.stdout or ():
            said += line
            if "Ctrl-C" in line:
                break
        return said
