"""Turns what `make bench` measured into ratios and rates beside their bars, as Markdown.

    python bench/report.py [--write]

Reads criterion's and pytest-benchmark's own files of the last run. With --write it keeps the page in bench/results,
named by the day, for others to compare with: numbers from another machine, or another run, say little; ratios do.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRITERION = ROOT / "target" / "criterion"
PYTHON_RESULTS = ROOT / "target" / "python-bench.json"
RESULTS = ROOT / "bench" / "results"


def median_ns(name: str) -> float:
    """Median time of one iteration of a criterion bench, in nanoseconds."""
    estimates = json.loads((CRITERION / name / "new" / "estimates.json").read_text())
    return float(estimates["median"]["point_estimate"])


def per_second(name: str) -> float:
    """Elements or bytes a second of a criterion bench that states its throughput."""
    (amount,) = json.loads((CRITERION / name / "new" / "benchmark.json").read_text())["throughput"].values()
    return float(amount) / median_ns(name) * 1e9


def row(what: str, measured: float, unit: str, bar: float, *, is_ceiling: bool) -> str:
    """One line of the table; a ceiling is met from below, a floor from above."""
    is_met = measured <= bar if is_ceiling else measured >= bar
    sign = "≤" if is_ceiling else "≥"
    return f"| {what} | {measured:,.2f} {unit} | {sign} {bar:,.2f} | {'met' if is_met else '**missed**'} |"


def rust_rows() -> Iterator[str]:
    """The bars of the Rust core."""
    floor = median_ns("append_1kib/floor")
    for batch in (1, 64):
        ratio = median_ns(f"append_1kib/batch/{batch}") / floor
        yield row(f"append of 1 KiB from Rust, batches of {batch}", ratio, "x floor", 3, is_ceiling=True)
    for kind, bar in (("binary", 1.0), ("json", 0.4)):
        rate = per_second(f"frame/decode_{kind}_1k") / 1e6
        yield row(f"decode of 1 KiB frames, {kind} headers", rate, "M/s", bar, is_ceiling=False)
    ratio = median_ns("read_1kib/memcpy") / median_ns("read_1kib/views")
    yield row("sequential read of 1 KiB with views", ratio, "x memcpy speed", 0.5, is_ceiling=False)
    rate = per_second("recovery/after_a_kill") / 1e6
    yield row("recovery after a kill", rate, "MB/s", 500, is_ceiling=False)


def python_rows() -> Iterator[str]:
    """The bar of the bindings."""
    for bench in json.loads(PYTHON_RESULTS.read_text())["benchmarks"]:
        if bench["name"] == "test_append_in_batches_of_64":
            ratio = bench["extra_info"]["ratio"]
            yield row("append of 1 KiB from Python, batches of 64", ratio, "x floor", 5, is_ceiling=True)


def machine() -> str:
    """What it ran on, and how busy that was."""
    info = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), platform.machine())
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release().split('-')[0]}, load {load}"


def page() -> str:
    """The whole page."""
    head = "| what | measured | bar | |\n|---|---|---|---|"
    now = datetime.now(UTC)
    title = f"# {now:%Y-%m-%d %H:%M} UTC\n\n{machine()}. Medians, all taken in one run of `make bench`."
    floor = median_ns("append_1kib/floor")
    note = f"Floor of the append: one memcpy and one CRC-32 of the same bytes, {floor:.0f} ns here."
    return "\n".join([title, note, "", head, *rust_rows(), *python_rows(), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep the page in bench/results")
    arguments = parser.parse_args()
    try:
        text = page()
    except FileNotFoundError as error:
        sys.exit(f"{error.filename} is missing: run `make bench` first")
    print(text)
    if arguments.write:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{datetime.now(UTC):%Y-%m-%d}.md").write_text(text)


if __name__ == "__main__":
    main()
