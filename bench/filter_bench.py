"""`make bench-filter`: what a filter of ten terms costs a pull of a million messages, beside the same without one.

    python -m bench.filter_bench [--messages N] [--rounds N]

The same messages are pulled from one broker without a filter, with one that wants them all and looks at every term,
and with one that wants a sixteenth; in turn, several rounds. Medians of times and of the broker's processor time are
compared. Bodies are small, since a large one costs a pull the more and a filter nothing.
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Final

from bench.processes import ROOT, Row, Served, bar, load, machine, our_broker

RATIO_MAX: Final = 2.0
QUEUES: Final = 8
BODY_BYTES: Final = 128

PROPERTIES: Final = (
    "amount=4711;price=19.95;country=FR;status=paid;channel=web;note=very urgent indeed;customer=C-100042;quantity=3"
)
NINE_TERMS: Final = (
    "amount > 100 AND amount < 1000000 AND price >= 9.5 AND country IN ('DE', 'FR', 'IT') AND status = 'paid'"
    " AND channel <> 'shop' AND note CONTAINS 'urgent' AND customer STARTSWITH 'C-' AND quantity BETWEEN 1 AND 99"
)
FILTERS: Final = {
    "none": None,
    "ten terms, all wanted": f"{NINE_TERMS} AND discount IS NULL",
    # Unique keys count in hexadecimal digits.
    "ten terms, a sixteenth wanted": f"{NINE_TERMS} AND UNIQ_KEY ENDSWITH '0'",
}
PLACES: Final = {"records in memory": 1 << 40, "records read by the reader thread": 1}
"""Where the hot window ends: behind everything, so that the epoll thread reads; or nowhere."""


def measure(messages: int, rounds: int, hot_window_bytes: int) -> dict[str, list[Row]]:
    """What each pull told, by filter."""
    with (
        tempfile.TemporaryDirectory(prefix="escrowmq-filter-", dir=ROOT / "target") as folder,
        our_broker(
            Path(folder) / "data",
            "--set=store.flush=async",
            f"--set=broker.hot_window_bytes={hot_window_bytes}",
        ) as broker,
    ):
        load("send", broker, f"--count={messages}", f"--body={BODY_BYTES}", f"--properties={PROPERTIES}")
        found: dict[str, list[Row]] = {name: [] for name in FILTERS}
        for _ in range(rounds):
            for name, expression in FILTERS.items():
                found[name].append(pull(broker, messages, expression))
        return found


def pull(broker: Served, messages: int, expression: str | None) -> Row:
    row = load("pull", broker, f"--queues={QUEUES}", *([] if expression is None else [f"--filter={expression}"]))
    assert row["messages"] >= messages, "not all of the messages were looked at"
    return row


def report(place: str, found: dict[str, list[Row]]) -> list[str]:
    """Prints what was measured; the lines of the table of bars."""
    plain = found["none"]
    bars = []
    for name, rows in found.items():
        times = [row["seconds"] for row in rows]
        processor = [row["broker"]["us_per_message"] for row in rows]
        print(
            f"{place}, filter: {name}: {rows[0]['wanted']:,} of {rows[0]['messages']:,} messages, "
            f"{statistics.median(times):.2f} s ({', '.join(f'{time:.2f}' for time in sorted(times))}); "
            f"the broker took {statistics.median(processor):.2f} µs a message"
        )
        if rows is not plain:
            ratio = statistics.median(times) / statistics.median(row["seconds"] for row in plain)
            bars.append(bar(f"time of a pull, {place}, {name}", ratio, "x unfiltered", RATIO_MAX, is_ceiling=True))
    return bars


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=1_000_000, help="how many are pulled")
    parser.add_argument("--rounds", type=int, default=5, help="how often each pull is made")
    arguments = parser.parse_args()
    print(f"{machine()}. {arguments.messages:,} messages of {BODY_BYTES} bytes with 8 properties of their own.\n")
    bars = []
    for place, hot_window_bytes in PLACES.items():
        bars += report(place, measure(arguments.messages, arguments.rounds, hot_window_bytes))
    print("\n| what | measured | bar | |\n|---|---|---|---|", *bars, sep="\n")


if __name__ == "__main__":
    main()
