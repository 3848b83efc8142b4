"""`make bench-stall`: how late a cheap request is answered while the broker is busy with the disk.

    python -m bench.stall [fsync] [scan] [--data FOLDER] [--gigabytes N] [--seconds S]

fsync  sends that are answered after their fsync keep the disk syncing all the time
scan   a consumer reads everything from the beginning, none of it in memory; --data keeps what it reads for the next run

Pings go out a thousand times a second on a connection of their own, whether or not those before are answered. The time
of an answer counts from when its ping was due, and from when it was written, which leaves out the generator's lateness.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from bench.memory import filled_memory
from bench.processes import ROOT, Row, Served, bar, finish_load, load, machine, our_broker, start_load

P999_MAX_MS = 5
BODY_BYTES = 1024
BATCH = 16


def ping_during(broker: Served, work: str, *options: str, seconds: float) -> tuple[Row, Row]:
    """Pings for a time, while the load generator does something else; both reports."""
    busy = start_load(work, broker, *options)
    ping = load("ping", broker, f"--seconds={seconds}")
    return ping, finish_load(busy)


def fsync(folder: Path, seconds: float) -> Row:
    with our_broker(folder / "fsync", "--set=store.flush=sync") as broker:
        load("send", broker, "--count=1000")
        ping, sent = ping_during(
            broker, "send", "--connections=2", "--window=64", "--burst=8",
            "--warm-up=0", f"--seconds={seconds}", seconds=seconds,
        )  # fmt: skip
    print(f"fsync: {sent['messages_per_second']:,.0f} sends a second meanwhile, each answered when it is on disk")
    return ping


def scan(data: Path, gigabytes: float, seconds: float) -> Row:
    fill(data, gigabytes)
    forget(data)
    with filled_memory(), our_broker(data, "--set=store.flush=async") as broker:
        ping, pulled = ping_during(broker, "pull", "--connections=2", seconds=seconds)
    print(
        f"scan: {pulled['bytes'] / 1e9:.1f} GB pulled meanwhile, {pulled['megabytes_per_second']:,.0f} MB/s, "
        f"in {pulled['seconds']:.0f} s; {seconds:.0f} s of it were pinged"
    )
    if pulled["seconds"] < seconds:
        sys.exit("the scan was over before the pings: ask for more --gigabytes or fewer --seconds")
    return ping


def fill(data: Path, gigabytes: float) -> None:
    """Writes messages of 1 KiB, unless an earlier run has."""
    log = data / "commitlog"
    written = sum(segment.stat().st_blocks * 512 for segment in log.iterdir()) if log.is_dir() else 0
    missing = int((gigabytes * 1e9 - written) / (BODY_BYTES * 1.2))
    if missing > 0:
        with our_broker(data, "--set=store.flush=async") as broker:
            load("send", broker, f"--count={missing}", f"--batch={BATCH}", "--burst=4", "--window=64")


def forget(data: Path) -> None:
    """Has the system drop all files from memory; they must be on disk for that."""
    os.sync()
    for path in data.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="fsync, scan; both if none is named")
    parser.add_argument("--data", type=Path, help="folder of the messages to scan, filled by the first run and kept")
    parser.add_argument("--gigabytes", type=float, default=10, help="how much is scanned")
    parser.add_argument("--seconds", type=float, default=10, help="how long is pinged in each part")
    arguments = parser.parse_args()
    parts = arguments.parts or ["fsync", "scan"]
    print(f"{machine()}. {arguments.seconds:.0f} s of pings, 1,000 a second.\n")
    bars = []
    with tempfile.TemporaryDirectory(prefix="escrowmq-stall-", dir=ROOT / "target") as temporary:
        for part in parts:
            folder = Path(temporary)
            if part == "fsync":
                ping = fsync(folder, arguments.seconds)
            elif part == "scan":
                ping = scan(arguments.data or folder / "scan", arguments.gigabytes, arguments.seconds)
            else:
                parser.error(f"{part!r} is neither fsync nor scan")
            latency, lateness = ping["latency"], ping["sender_late"]
            print(f"{part}: {latency}, {ping['over_5_ms']} over 5 ms; the pings themselves were late by {lateness}")
            for since, key in (("due", "latency_from_due"), ("written", "latency")):
                what, p999_ms = f"ping during {part}, p99.9 since {since}", ping[key]["p99.9_ms"]
                bars.append(bar(what, p999_ms, "ms", P999_MAX_MS, is_ceiling=True))
    print("\n| what | measured | bar | |\n|---|---|---|---|", *bars, sep="\n")


if __name__ == "__main__":
    main()
