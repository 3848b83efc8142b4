"""The processes of a measurement: our broker, our load generator, and what the system knows of either."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

ROOT: Final = Path(__file__).resolve().parent.parent
LOAD: Final = ROOT / "target" / "release" / "escrowmq-load"
READY_DEADLINE_S: Final = 30
STOP_DEADLINE_S: Final = 60
POLL_INTERVAL_S: Final = 0.005
TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")

# However full the disk of the machine is, what is measured is neither cleaned nor refused.
ANY_DISK: Final = (
    "--set=store.disk_clean_ratio=1.0",
    "--set=store.disk_force_ratio=1.0",
    "--set=store.disk_refuse_ratio=1.0",
)

Row: TypeAlias = dict[str, Any]
"""One JSON object that the load generator printed."""


class BenchError(Exception):
    """A process did not do what the measurement needs."""


@dataclass(frozen=True)
class Served:
    """A broker that listens."""

    process: subprocess.Popen[bytes]
    address: str
    ready_s: float
    """From the start of the process until it said that it listens."""
    output_path: Path

    @property
    def pid(self) -> int:
        return self.process.pid


@contextmanager
def our_broker(data: Path, *options: str) -> Iterator[Served]:
    """Our broker on a free port of loopback; stopped in good order at the end."""
    with _our_server("broker", data, *ANY_DISK, *options) as served:
        yield served


@contextmanager
def our_name_server(data: Path) -> Iterator[str]:
    """The address of our name server, on a free port of loopback."""
    with _our_server("namesrv", data) as served:
        yield served.address


@contextmanager
def _our_server(command: str, data: Path, *options: str) -> Iterator[Served]:
    data.parent.mkdir(parents=True, exist_ok=True)
    output_path = data.with_name(f"{data.name}.out")
    fixed = [sys.executable, "-m", "escrowmq", command, "--port=0", f"--data={data}", "--log-level=warning"]
    begin = time.monotonic()
    with output_path.open("wb") as output:
        process = subprocess.Popen([*fixed, *options], stdout=output, stderr=output)
    try:
        said = await_output(process, output_path, "data in")
        ready_s = time.monotonic() - begin
        address = re.search(r" at ([\d.]+:\d+)", said)
        if address is None:
            raise BenchError(f"the {command} did not say where it listens: {said}")
        yield Served(process, address[1], ready_s, output_path)
    finally:
        stop(process)


def await_output(process: subprocess.Popen[bytes], path: Path, words: str) -> str:
    """What a process printed, once these words are part of it."""
    deadline = time.monotonic() + READY_DEADLINE_S
    while words not in (said := path.read_text(errors="replace")):
        if process.poll() is not None or time.monotonic() > deadline:
            raise BenchError(f"{path.stem} did not say {words!r}: {said}")
        time.sleep(POLL_INTERVAL_S)
    return said


def stop(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM, and SIGKILL where that does not help."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_DEADLINE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def start_load(mode: str, broker: Served, *options: str) -> subprocess.Popen[bytes]:
    """Starts the load generator against a broker."""
    command = [str(LOAD), mode, f"--address={broker.address}", f"--broker-pid={broker.pid}", *options]
    return subprocess.Popen(split_values(command), stdout=subprocess.PIPE)


def finish_load(process: subprocess.Popen[bytes]) -> Row:
    """Waits for what the load generator has found."""
    printed, _ = process.communicate()
    if process.returncode != 0:
        raise BenchError(f"the load generator exited with {process.returncode}")
    row: Row = json.loads(printed)
    return row


def load(mode: str, broker: Served, *options: str) -> Row:
    """Runs the load generator against a broker."""
    return finish_load(start_load(mode, broker, *options))


def split_values(arguments: Sequence[str]) -> list[str]:
    """`--name=value` as the two arguments that the load generator wants."""
    return [part for argument in arguments for part in (argument.split("=", 1) if argument[:2] == "--" else [argument])]


def cpu_s(pid: int) -> float:
    """Processor time that a process has taken, user and system together."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


def machine_cpu_s() -> float:
    """Processor time that everything on the machine has taken, the kernel's own included."""
    ticks = [int(field) for field in Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]]
    # The fourth and fifth are of processors that have nothing to do; from the ninth on it is counted before as well.
    return (sum(ticks[:8]) - ticks[3] - ticks[4]) / TICKS_A_SECOND


def status_number(pid: int, key: str) -> int:
    """A number of `/proc/PID/status`: VmRSS in KiB, Threads."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(rf"^{key}:\s+(\d+)", text, flags=re.MULTILINE)
    if found is None:
        raise BenchError(f"the status of process {pid} has no {key}")
    return int(found[1])


def machine() -> str:
    """What it ran on, and how busy that was."""
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), os.uname().machine)
    load_now = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{model}, {os.cpu_count()} cores, Linux {os.uname().release.split('-')[0]}, load {load_now}"


def bar(what: str, measured: float, unit: str, limit: float, *, is_ceiling: bool) -> str:
    """A line of a table: what was measured, its bar, and whether that is met."""
    is_met = measured <= limit if is_ceiling else measured >= limit
    sign, verdict = "≤" if is_ceiling else "≥", "met" if is_met else "**missed**"
    return f"| {what} | {measured:,.2f} {unit} | {sign} {limit:,.2f} | {verdict} |"
