"""`make bench-apache`: our broker and Apache's side by side, under Apache's own benchmark programs.

    python -m bench.apache [PART ...]

Parts: async-send, async-batch, consume, sync-send, sync-batch, async-transactions, sync-transactions, idle; all of them
if none is named, which takes about sixteen minutes. Each part is measured three times with either broker, in turn; what
counts is the median. Both brokers have the same clients, the same name server (ours) and their own defaults.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from bench.apache import measure, transactions
from bench.apache.java import Java
from bench.apache.measure import Idle, Work
from bench.apache.sides import BROKERS, Bench, alternate, compare, store_numbers
from bench.processes import ROOT, bar, machine, our_name_server
from tests.interop.installation import install, missing_tools

SEND: Final = ("Producer", "-w", "64", "-s", "1024")
BATCH: Final = ("BatchProducer", "-w", "4", "-b", "32")

RATE_RATIO_MIN: Final = 1.5
SYNC_RATE_RATIO_MIN: Final = 1.0
CPU_RATIO_MAX: Final = 0.2
FLOOR_RATIO_MIN: Final = 0.8
IDLE_RSS_MAX_MB: Final = 80
READY_MAX_S: Final = 1
IDLE_CORE_MAX_PERCENT: Final = 0.5


def produce(bench: Bench, what: str, program: Sequence[str]) -> list[str]:
    def once(which: str, _: int) -> Work:
        with bench.fresh_broker(which, flush="async") as served:
            return measure.produce(bench.java, served, bench.name_server, *program)

    return compare(what, alternate(bench, what, once), RATE_RATIO_MIN, cpu_ratio_max=CPU_RATIO_MAX)


def consume(bench: Bench) -> list[str]:
    for which in BROKERS:
        with bench.broker(which, bench.folder / f"backlog-{which}", flush="async") as served:
            measure.fill_backlog(served)

    def once(which: str, round_number: int) -> Work:
        with bench.broker(which, bench.folder / f"backlog-{which}", flush="async") as served:
            return measure.consume(bench.java, served, bench.name_server, f"consumer_{round_number}")

    return compare("consume", alternate(bench, "consume", once), RATE_RATIO_MIN, cpu_ratio_max=CPU_RATIO_MAX)


def produce_sync(bench: Bench, what: str, program: Sequence[str]) -> list[str]:
    """As async; beside it the floor, right after each measurement of ours, while the disk is as fast as it was."""
    of_floor: list[float] = []

    def once(which: str, _: int) -> Work:
        with bench.fresh_broker(which, flush="sync") as served:
            work = measure.produce(bench.java, served, bench.name_server, *program)
            if which == "ours":
                served.process.terminate()
                served.process.wait()
                stopped = store_numbers(served.output_path)
                group = stopped["messages"] / stopped["flushes"]
                floor = measure.sync_floor(bench.folder, int(stopped["bytes"] / stopped["flushes"]), group)
                of_floor.append(work.rate / floor)
                print(f"{what}: {group:.1f} messages a flush; write and fdatasync of as much: {floor:,.0f} a second")
        return work

    rows = compare(what, alternate(bench, what, once), SYNC_RATE_RATIO_MIN, cpu_ratio_max=None)
    ratio = statistics.median(of_floor)
    return [*rows, bar(f"{what}: of what the floor allows", ratio, "x", FLOOR_RATIO_MIN, is_ceiling=False)]


def idle(bench: Bench) -> list[str]:
    found: dict[str, Idle] = {}
    for which in BROKERS:
        with bench.fresh_broker(which, flush="async") as served:
            found[which] = measure.idle(served)
    for which, one in found.items():
        print(
            f"idle, {which}: ready after {one.ready_s:.2f} s, {one.rss_mb:.0f} MB resident, {one.threads} threads, "
            f"{one.core_percent:.2f} % of a core"
        )
    ours = found["ours"]
    return [
        bar("idle: resident memory", ours.rss_mb, "MB", IDLE_RSS_MAX_MB, is_ceiling=True),
        bar("start: until it listens", ours.ready_s, "s", READY_MAX_S, is_ceiling=True),
        bar("idle: of a core", ours.core_percent, "%", IDLE_CORE_MAX_PERCENT, is_ceiling=True),
    ]


PARTS: Final[dict[str, Callable[[Bench], list[str]]]] = {
    "async-send": partial(produce, what="send", program=SEND),
    "async-batch": partial(produce, what="batch", program=BATCH),
    "consume": consume,
    "sync-send": partial(produce_sync, what="sync send", program=SEND),
    "sync-batch": partial(produce_sync, what="sync batch", program=BATCH),
    "async-transactions": transactions.without_waiting,
    "sync-transactions": transactions.on_disk,
    "idle": idle,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=3, help="how often each broker is measured")
    arguments = parser.parse_args()
    parts = arguments.parts or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if missing := missing_tools():
        print(f"skipped: {', '.join(missing)} missing, which Apache's programs need", file=sys.stderr)
        return
    print(f"{machine()}. Medians of {arguments.rounds}, the brokers in turn.\n", flush=True)
    rows: list[str] = []
    with tempfile.TemporaryDirectory(prefix="escrowmq-apache-", dir=ROOT / "target") as temporary:
        folder = Path(temporary)
        with our_name_server(folder / "namesrv") as name_server:
            bench = Bench(Java(install(), folder), folder, name_server, arguments.rounds)
            for part in parts:
                rows += PARTS[part](bench)
    print("\n| what | measured | bar | |\n|---|---|---|---|", *rows, sep="\n")


if __name__ == "__main__":
    main()
