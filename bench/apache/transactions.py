"""Transactions under Apache's `TransactionProducer`: each is prepared, then committed by an END that nobody waits for.

What counts is a message in its queue, which is a transaction that is whole.
"""

import statistics
from typing import Final

from bench.apache import measure
from bench.apache.measure import Work
from bench.apache.sides import Bench, alternate, compare, store_numbers
from bench.processes import bar

PROGRAM: Final = ("TransactionProducer", "-w", "32", "-s", "1024")

RATE_RATIO_MIN: Final = 2.0
SYNC_RATE_RATIO_MIN: Final = 1.0
CPU_RATIO_MAX: Final = 0.25
FLOOR_RATIO_MIN: Final = 0.8


def without_waiting(bench: Bench) -> list[str]:
    """Async: nobody waits for the disk."""

    def once(which: str, _: int) -> Work:
        with bench.fresh_broker(which, flush="async") as served:
            return measure.produce(bench.java, served, bench.name_server, *PROGRAM)

    found = alternate(bench, "transactions", once)
    return compare("transactions", found, RATE_RATIO_MIN, cpu_ratio_max=CPU_RATIO_MAX)


def on_disk(bench: Bench) -> list[str]:
    """Sync. A transaction is in two groups, that of its half message and that of its decision; the floor has both."""
    of_floor: list[float] = []

    def once(which: str, _: int) -> Work:
        with bench.fresh_broker(which, flush="sync") as served:
            work = measure.produce(bench.java, served, bench.name_server, *PROGRAM)
            if which == "ours":
                whole = measure.stored(served)
                served.process.terminate()
                served.process.wait()
                stopped = store_numbers(served.output_path)
                group = whole / stopped["flushes"]
                floor = measure.sync_floor(bench.folder, int(stopped["bytes"] / stopped["flushes"]), group)
                of_floor.append(work.rate / floor)
                print(
                    f"sync transactions: {group:.1f} a flush, counting both of its groups; write and fdatasync of as "
                    f"much: {floor:,.0f} a second"
                )
        return work

    found = alternate(bench, "sync transactions", once)
    rows = compare("sync transactions", found, SYNC_RATE_RATIO_MIN, cpu_ratio_max=None)
    ratio = statistics.median(of_floor)
    return [*rows, bar("sync transactions: of what the floor allows", ratio, "x", FLOOR_RATIO_MIN, is_ceiling=False)]
