"""`make bench-client`: one Python process beside Apache's Java producer, in turn, on brokers of ours with empty stores.

Each sends 1 KiB messages, 64 at a time and one each for a thread or a task. Three rounds; what counts is the median.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.apache.java import Java
from bench.apache.measure import MEASURED_S, WARM_UP_S, Moment, Work, produce, stored
from bench.processes import BenchError, Served, bar, machine, our_broker, our_name_server
from tests.interop.installation import install, missing_tools

ROUNDS: Final = 3
AT_A_TIME: Final = 64
RATE_RATIO_MIN: Final = 1.0
JAVA: Final = "Java, 64 threads"
THREADS: Final = "Python, 64 threads"
TASKS: Final = "Python, 64 tasks"


def send(broker: Served, name_server: str, kind: str) -> Work:
    """What one Python process achieves."""
    command = [sys.executable, "-m", "bench.client.sender", name_server, kind, str(AT_A_TIME)]
    client = subprocess.Popen(command)
    try:
        time.sleep(WARM_UP_S)
        before, begin = stored(broker), Moment.now(broker, client.pid)
        time.sleep(MEASURED_S)
        messages, end = stored(broker) - before, Moment.now(broker, client.pid)
        if client.poll() is not None or messages == 0:
            raise BenchError("the Python client sent nothing")
    finally:
        client.kill()
        client.wait()
    return Work(messages, begin, end)


def measure(java: Java, folder: Path, which: str) -> Work:
    """One of them, on an empty store."""
    with (
        tempfile.TemporaryDirectory(dir=folder) as data,
        our_name_server(Path(data) / "namesrv") as name_server,
        our_broker(Path(data) / "broker", "--set=store.flush=async", f"--namesrv={name_server}") as broker,
    ):
        if which == JAVA:
            return produce(java, broker, name_server, "Producer", "-w", str(AT_A_TIME), "-s", "1024")
        return send(broker, name_server, "threads" if which == THREADS else "tasks")


def main() -> int:
    """Measures in turn, and says whether the bars are met."""
    missing = missing_tools()
    if missing:
        print(f"bench-client needs {', '.join(missing)}", file=sys.stderr)
        return 1
    print(machine())
    found: dict[str, list[Work]] = {JAVA: [], THREADS: [], TASKS: []}
    with tempfile.TemporaryDirectory(prefix="bench-client-") as name:
        folder = Path(name)
        java = Java(install(), folder)
        for _ in range(ROUNDS):
            for which, works in found.items():
                work = measure(java, folder, which)
                works.append(work)
                print(
                    f"{which}: {work.rate:,.0f} a second; the client took {work.client_us:.1f} µs a message and "
                    f"{work.client_cores:.2f} cores, the broker {work.broker_cores:.2f}, "
                    f"all else {work.other_cores:.2f}",
                    flush=True,
                )
    rates = {which: statistics.median(work.rate for work in works) for which, works in found.items()}
    for which in (THREADS, TASKS):
        name = f"{which}: throughput, {rates[which]:,.0f} to {rates[JAVA]:,.0f}"
        print(bar(name, rates[which] / rates[JAVA], "x", RATE_RATIO_MIN, is_ceiling=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
