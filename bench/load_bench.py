"""`make bench-load`: how many sends of 1 KiB a second our broker takes per core, with our own load generator.

    python -m bench.load_bench [--seconds S]

Broker and generator share the machine. Sends a second are divided by the cores that the broker took meanwhile: the
processor time of all of its threads, from /proc/PID/stat, over the time that passed. The machine's memory is in use
before, as on one that has been up for a while.
"""

import argparse
import json
import tempfile
from pathlib import Path

from bench.memory import filled_memory
from bench.processes import ROOT, Row, bar, load, machine, our_broker

SENDS_PER_CORE_MIN = 200_000

CASES = (
    ("async, binary headers", "async", ("--header=binary",), True),
    ("async, JSON headers", "async", ("--header=json",), True),
    ("async, batches of 32", "async", ("--batch=32", "--burst=4", "--window=32"), False),
    ("sync, binary headers", "sync", ("--header=binary",), False),
)


def measure(flush: str, options: tuple[str, ...], seconds: float) -> Row:
    with (
        tempfile.TemporaryDirectory(prefix="escrowmq-load-", dir=ROOT / "target") as folder,
        filled_memory(),
        our_broker(Path(folder) / "data", f"--set=store.flush={flush}") as broker,
    ):
        return load("send", broker, f"--seconds={seconds}", "--warm-up=3", *options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10, help="how long each case is measured")
    arguments = parser.parse_args()
    print(f"{machine()}. Sends of 1 KiB, 4 connections.\n")
    bars = []
    for name, flush, options, has_bar in CASES:
        row = measure(flush, options, arguments.seconds)
        broker = row["broker"]
        print(
            f"{name}: {row['messages_per_second']:,.0f} a second; the broker took {broker['cores']:.2f} cores, "
            f"{broker['us_per_message']:.2f} µs a message: {json.dumps(broker['us_per_message_by_thread'])}; "
            f"the generator {row['generator']['cores']:.2f}, the rest of the machine {row['other_cores']:.2f}"
        )
        if has_bar:
            per_core = broker["messages_per_core_second"]
            bars.append(bar(f"sends per broker core, {name}", per_core, "/s", SENDS_PER_CORE_MIN, is_ceiling=False))
    print("\n| what | measured | bar | |\n|---|---|---|---|", *bars, sep="\n")


if __name__ == "__main__":
    main()
