"""`make bench-transactions`: what transactions cost, and how late they and others are answered.

    python -m bench.transactions [open-loop] [pending] [restart]

open-loop  transactions at a fixed rate, each prepared and then decided by an END that is answered; async
pending    a million pending ones: how long a request of somebody else waits at most, while nobody can be asked, while a
           producer is asked, and while the index is written down
restart    how long a start takes with a million pending, and with two million decided ones; with a snapshot and without

Times count from when something was due, whether or not what came before is answered. Bars are those of the issue.
"""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from bench.memory import filled_memory
from bench.processes import ROOT, Row, Served, bar, finish_load, load, machine, our_broker, start_load, status_number
from bench.transaction_store import fill, snapshot_of

RATE: Final = 20_000
P99_MAX_MS: Final = 20
HELD_UP_MAX_MS: Final = 50
PENDING: Final = 1_000_000
DECIDED: Final = 2_000_000
START_MAX_S: Final = 1
ASYNC: Final = "--set=store.flush=async"


def told(times: Row) -> str:
    return ", ".join(f"{name.removesuffix('_ms')} {times[name]:,.2f}" for name in sorted(times, reverse=True)) + " ms"


def open_loop(folder: Path, seconds: float, rates: Sequence[int]) -> list[str]:
    rows = []
    for rate in rates:
        with filled_memory(), our_broker(folder / f"open-{rate}", ASYNC) as broker:
            found = load("transact", broker, f"--rate={rate}", f"--seconds={seconds}", "--warm-up=3")
        cost, stages = found["broker"], ("prepared", "decided", "whole")
        print(
            f"open loop, {rate:,} a second: {found['transactions']:,} whole, {found['refused']:,} refused\n"
            + "".join(f"  {stage} {told(found[stage])}\n" for stage in stages)
            + f"  the generator late by {told(found['sender_late'])}\n"
            f"  the broker took {cost['cores']:.2f} cores, {cost['us_per_message']:.1f} µs a transaction: "
            f"{cost['us_per_message_by_thread']}; the generator {found['generator']['cores']:.2f}",
            flush=True,
        )
        if rate == RATE:
            for stage in stages:
                what = f"open loop, {rate:,} a second: {stage}, p99"
                rows.append(bar(what, found[stage]["p99_ms"], "ms", P99_MAX_MS, is_ceiling=True))
            rows.append(bar(f"open loop, {rate:,} a second: refused", found["refused"], "", 0, is_ceiling=True))
    return rows


def pending(folder: Path, seconds: float) -> list[str]:
    data = filled(folder, "pending", PENDING)
    rows = []
    rounds = ("--set=broker.transaction_check_interval_ms=1000", "--set=broker.transaction_timeout_ms=1000")
    with our_broker(data, ASYNC, *rounds) as broker:
        rss_mb = status_number(broker.pid, "VmRSS") * 1024 / 1e6
        print(f"pending: {PENDING:,}, {rss_mb:,.0f} MB resident after the start", flush=True)
        rows += longest(broker, "nobody to ask", seconds)
        asked = start_load("answer-checks", broker, f"--seconds={seconds + 4}", "--decision=unknown")
        rows += longest(broker, "a producer is asked", seconds)
        print(f"pending: {finish_load(asked)['questions']:,} questions", flush=True)
        before = snapshot_of(data)
        # Enough log for the index to be written down.
        rows += longest(broker, "the index is written", seconds, "--rate=3000", "--body=8192")
        print(f"pending: the index was written down meanwhile: {snapshot_of(data) != before}", flush=True)
    return rows


def filled(folder: Path, what: str, count: int) -> Path:
    """A store with so many transactions, made once."""
    data = folder / what
    if not data.exists():
        fill(data, count=count, are_decided=what == "decided")
    return data


def longest(broker: Served, when: str, seconds: float, *transactions: str) -> list[str]:
    """The longest that requests of others take: two kinds of pings, and transactions."""
    options = transactions or ("--rate=200",)
    others = {
        "answered in Rust": start_load("ping", broker, f"--seconds={seconds}"),
        "answered in Python": start_load("ping", broker, f"--seconds={seconds}", "--rate=200", "--request=heartbeat"),
    }
    ended = load("transact", broker, f"--seconds={seconds}", "--warm-up=0", "--connections=1", "--group=o", *options)
    rows = []
    for kind, process in others.items():
        times = finish_load(process)["latency_from_due"]
        print(f"pending, {when}: requests {kind}: {told(times)}", flush=True)
        rows.append(
            bar(f"pending, {when}: longest request {kind}", times["max_ms"], "ms", HELD_UP_MAX_MS, is_ceiling=True)
        )
    for stage in ("prepared", "decided"):
        times = ended[stage]
        print(f"pending, {when}: {stage} {told(times)}", flush=True)
        rows.append(bar(f"pending, {when}: longest {stage}", times["max_ms"], "ms", HELD_UP_MAX_MS, is_ceiling=True))
    return rows


def restart(folder: Path) -> list[str]:
    rows = []
    with our_broker(folder / "empty", ASYNC) as broker:
        empty_s, empty_kb = broker.ready_s, status_number(broker.pid, "VmRSS")
    print(f"restart: {empty_s:.2f} s with an empty store")
    for what, count in (("pending", PENDING), ("decided", DECIDED)):
        data = filled(folder, what, count)
        with filled_memory(), our_broker(data, ASYNC) as broker:
            from_snapshot_s = broker.ready_s
            each = (status_number(broker.pid, "VmRSS") - empty_kb) * 1024 / count
        (data / "escrowmq" / "transactions").unlink()
        with filled_memory(), our_broker(data, ASYNC) as broker:
            from_log_s = broker.ready_s
        print(
            f"restart, {count:,} {what}: {from_snapshot_s:.2f} s with a snapshot, {from_log_s:.2f} s without; "
            f"{each:.0f} bytes of resident memory each",
            flush=True,
        )
        added_s = from_snapshot_s - empty_s
        rows.append(bar(f"restart: {count:,} {what} add", added_s, "s", START_MAX_S, is_ceiling=True))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="open-loop, pending, restart; all if none is named")
    parser.add_argument("--seconds", type=float, default=15, help="how long each case is measured")
    parser.add_argument("--rates", default=f"10000,{RATE}", help="transactions a second in the open loop")
    arguments = parser.parse_args()
    parts: dict[str, Callable[[Path], list[str]]] = {
        "open-loop": lambda folder: open_loop(folder, arguments.seconds, [int(n) for n in arguments.rates.split(",")]),
        "restart": restart,
        "pending": lambda folder: pending(folder, arguments.seconds),
    }
    if unknown := set(arguments.parts) - set(parts):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    print(f"{machine()}.\n", flush=True)
    rows: list[str] = []
    with tempfile.TemporaryDirectory(prefix="escrowmq-transactions-", dir=ROOT / "target") as temporary:
        for part in arguments.parts or parts:
            rows += parts[part](Path(temporary))
    print("\n| what | measured | bar | |\n|---|---|---|---|", *rows, sep="\n")


if __name__ == "__main__":
    main()
