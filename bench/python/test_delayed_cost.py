"""What delayed messages cost: while they wait next to nothing, and when they are due a delivery each.

The bar is that of a whole broker process with a million messages that wait, held against the processor time that the
system counts for it. Beside it stands what the same broker takes with none.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from tests.compat.broker_process import ServerProcess, cpu_s
from tests.unit.broker.desk import TextInMemory

from escrowmq import Clock, Message, Store
from escrowmq.broker.delivery.delay_offsets import DelayOffsetsFile
from escrowmq.broker.delivery.delayed import DelayedDelivery
from escrowmq.broker.delivery.levels import DelayLevels, queue_of
from escrowmq.broker_config import BrokerConfig

WAITING = 1_000_000
WATCHED_S = 60
SHARE_OF_A_CORE_MAX = 0.005
BURST = 100_000
BATCH = 500
LEVELS = DelayLevels.parse(BrokerConfig().delay_levels)
# None of these is due while the broker is watched.
LONG_ENOUGH_MS = 600_000
LONG_LEVELS = tuple(level for level in range(1, LEVELS.highest + 1) if LEVELS.delay_ms(level) >= LONG_ENOUGH_MS)


def delayed(number: int, level: int) -> Message:
    properties = {
        "DELAY": str(level),
        "UNIQ_KEY": f"{number:032X}",
        "REAL_TOPIC": "orders",
        "REAL_QID": str(number % 4),
    }
    return Message("SCHEDULE_TOPIC_XXXX", b"." * 100, queue_id=queue_of(level), properties=properties)


def fill(store: Store, count: int, levels: tuple[int, ...]) -> None:
    for first in range(0, count, BATCH):
        numbers = range(first, first + BATCH)
        store.append([delayed(number, levels[number % len(levels)]) for number in numbers])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "broker"


def watched_share(data: Path) -> float:
    """The share of a core that a broker takes while nobody asks anything of it."""
    with ServerProcess("broker", data, "--port=0") as server:
        before, began = cpu_s(server.process.pid), time.monotonic()
        time.sleep(WATCHED_S)
        return (cpu_s(server.process.pid) - before) / (time.monotonic() - began)


@pytest.mark.timeout(600)
def test_a_million_delayed_messages_cost_next_to_nothing_while_they_wait(data: Path) -> None:
    with Store.open(data, flush="async", segment_size_bytes=8_388_608, disk_refuse_ratio=1.0) as store:
        fill(store, WAITING, LONG_LEVELS)
    with_them = watched_share(data)
    without = watched_share(data.with_name("empty"))
    print(f"\n{WAITING:,} messages wait: {with_them:.3%} of a core over {WATCHED_S} s; none: {without:.3%}")
    assert with_them <= SHARE_OF_A_CORE_MAX


class Nobody:
    """Nobody has to be told: what is delivered was visible before."""

    def tell_when_visible(self, log_offset: int) -> None:
        """Does nothing."""


@pytest.fixture
def overdue(data: Path) -> Iterator[DelayedDelivery]:
    """Messages of one level, all of which are due."""
    clock = Clock()
    with Store.open(data, clock=clock, flush="async", disk_refuse_ratio=1.0) as store:
        fill(store, BURST, (1,))
        store.wait_visible(store.log_end, timeout_s=60)
        clock.advance(LEVELS.delay_ms(1))
        file = DelayOffsetsFile(TextInMemory(), wall_ms=clock.wall_ms)
        yield DelayedDelivery(LEVELS, store, store, Nobody(), file, save_interval_ms=1_000, wall_ms=clock.wall_ms)


@pytest.mark.timeout(600)
def test_a_burst_is_delivered(benchmark: BenchmarkFixture, overdue: DelayedDelivery) -> None:
    def deliver_all() -> None:
        while overdue.wait_ms() <= 0:
            overdue.run()

    benchmark.pedantic(deliver_all, rounds=1)  # type: ignore[no-untyped-call]
    assert overdue.offsets().offsets == {1: BURST}
    assert benchmark.stats is not None
    print(f"\n{BURST / benchmark.stats.stats.median:,.0f} delayed messages delivered a second, by one thread")
