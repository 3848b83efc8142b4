"""What all parts share: either broker in turn, under the same clients, and the bars of one over the other."""

import json
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.apache.java import Java
from bench.apache.measure import Work
from bench.processes import BenchError, Served, bar, our_broker

BROKERS: Final = ("Apache", "ours")


@dataclass(frozen=True)
class Bench:
    """What all parts share."""

    java: Java
    folder: Path
    name_server: str
    rounds: int

    @contextmanager
    def broker(self, which: str, data: Path, *, flush: str) -> Iterator[Served]:
        """Either broker, on a store of its own."""
        if which == "Apache":
            with self.java.broker(data, flush=flush, name_server=self.name_server) as served:
                yield served
        else:
            options = (
                f"--set=store.flush={flush}",
                f"--namesrv={self.name_server}",
                "--log-form=json",
                "--log-level=info",
            )
            with our_broker(data, *options) as served:
                yield served

    @contextmanager
    def fresh_broker(self, which: str, *, flush: str) -> Iterator[Served]:
        """Either broker, on an empty store that is removed afterwards."""
        with (
            tempfile.TemporaryDirectory(prefix=f"{which}-", dir=self.folder) as folder,
            self.broker(which, Path(folder) / "data", flush=flush) as served,
        ):
            yield served


def alternate(bench: Bench, what: str, once: Callable[[str, int], Work]) -> dict[str, list[Work]]:
    """Measures the brokers in turn, and says what was found at once."""
    found: dict[str, list[Work]] = {which: [] for which in BROKERS}
    for round_number in range(bench.rounds):
        for which in BROKERS:
            work = once(which, round_number)
            found[which].append(work)
            print(
                f"{what}, {which}: {work.rate:,.0f} a second; the broker took {work.broker_us:.1f} µs a message and "
                f"{work.broker_cores:.2f} cores, the client {work.client_cores:.2f}, all else {work.other_cores:.2f}",
                flush=True,
            )
    return found


def compare(
    what: str, found: dict[str, list[Work]], rate_ratio_min: float, *, cpu_ratio_max: float | None
) -> list[str]:
    """The bars of a part: medians of the one over medians of the other. Without a limit, processor time has no bar."""
    rate = {which: statistics.median(work.rate for work in works) for which, works in found.items()}
    cpu = {which: statistics.median(work.broker_us for work in works) for which, works in found.items()}
    ratio = rate["ours"] / rate["Apache"]
    rows = [
        bar(
            f"{what}: throughput, {rate['ours']:,.0f} to {rate['Apache']:,.0f}",
            ratio,
            "x",
            rate_ratio_min,
            is_ceiling=False,
        )
    ]
    if cpu_ratio_max is not None:
        name = f"{what}: broker's processor time a message, {cpu['ours']:.1f} to {cpu['Apache']:.1f} µs"
        rows.append(bar(name, cpu["ours"] / cpu["Apache"], "x", cpu_ratio_max, is_ceiling=True))
    return rows


def store_numbers(output_path: Path) -> dict[str, float]:
    """What our broker said of its store when it stopped."""
    for line in output_path.read_text(encoding="utf-8").splitlines():
        if line.startswith("{") and (row := json.loads(line)).get("event") == "broker stopped":
            return {key: float(row[key]) for key in ("messages", "bytes", "flushes")}
    raise BenchError("our broker did not say what its store did")
