"""Appending and reading from Python, as ratios to a floor that is measured in the same run.

The floor is one memcpy and one CRC-32 of the same bytes into memory that is there already: no store can do with less.
A ratio says the same on any machine, which a number of messages a second does not. The bar is held against the median.
"""

import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from escrowmq import Message, Store
from escrowmq._core import _measure_floor_s

BATCH = 64
BODY = bytes(range(256)) * 4
ROUNDS = 400
APPEND_RATIO_MAX = 5.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store that flushes in the background: what is measured is appending, not the disk."""
    with Store.open(tmp_path / "store", flush="async", disk_refuse_ratio=1.0) as opened:
        yield opened


def floors_ns() -> list[float]:
    """Nanoseconds per record of the floor, several times: on a busy machine it moves by a factor of two."""
    return [_measure_floor_s([BODY] * BATCH, ROUNDS) / (BATCH * ROUNDS) * 1e9 for _ in range(15)]


def report(benchmark: BenchmarkFixture, floors: list[float]) -> float:
    """Notes and prints what a record costs, and returns it as a multiple of the median floor."""
    assert benchmark.stats is not None
    floor, least = statistics.median(floors), min(floors)
    record_ns: float = benchmark.stats.stats.median / BATCH * 1e9
    # The median says what the code costs; the mean has the stalls in it, for pages and for the disk.
    mean_ns: float = benchmark.stats.stats.mean / BATCH * 1e9
    benchmark.extra_info.update(mean_ns=round(mean_ns), mean_ratio=round(mean_ns / floor, 2))
    benchmark.extra_info.update(floor_ns=round(floor), record_ns=round(record_ns), ratio=round(record_ns / floor, 2))
    print(
        f"\n{benchmark.name}: {record_ns:.0f} ns a record, floor {floor:.0f} ns (least {least:.0f}), "
        f"ratio {record_ns / floor:.2f} (to the least {record_ns / least:.2f}); "
        f"mean {mean_ns:.0f} ns, ratio {mean_ns / floor:.2f}"
    )
    return record_ns / floor


def test_append_in_batches_of_64(benchmark: BenchmarkFixture, store: Store) -> None:
    batch = [Message("bench", BODY, tags="t") for _ in range(BATCH)]
    floors = floors_ns()
    benchmark.pedantic(store.append, args=(batch,), rounds=ROUNDS, warmup_rounds=20)  # type: ignore[no-untyped-call]
    ratio = report(benchmark, floors + floors_ns())
    assert ratio <= APPEND_RATIO_MAX


def test_make_and_append_in_batches_of_64(benchmark: BenchmarkFixture, store: Store) -> None:
    """With the cost of making the messages, for which there is no bar."""

    def make_and_append() -> None:
        store.append([Message("bench", BODY, tags="t") for _ in range(BATCH)])

    floors = floors_ns()
    benchmark.pedantic(make_and_append, rounds=ROUNDS, warmup_rounds=20)  # type: ignore[no-untyped-call]
    report(benchmark, floors + floors_ns())


def test_read_in_batches_of_64(benchmark: BenchmarkFixture, store: Store) -> None:
    for _ in range(ROUNDS):
        receipts = store.append([Message("bench", BODY, tags="t") for _ in range(BATCH)])
    store.wait_visible(receipts.end_offset, timeout_s=60)
    offsets = iter(range(0, BATCH * ROUNDS, BATCH))

    def read() -> int:
        records = store.read("bench", 0, next(offsets), count_max=BATCH)
        return sum(len(record.body) for record in records)

    floors = floors_ns()
    size = benchmark.pedantic(read, rounds=ROUNDS - 1, warmup_rounds=0)  # type: ignore[no-untyped-call]
    assert size == BATCH * len(BODY)
    report(benchmark, floors + floors_ns())
