"""What a million messages cost that wait for a time of their own: while they wait, nearly nothing."""

import time
from pathlib import Path

import pytest
from tests.compat.broker_process import ServerProcess, cpu_s

from escrowmq import Message, Store, Timers

COUNT = 1_000_000
BATCH = 10_000
HOUR_MS = 3_600_000
# From an hour to three days, two to three of them going round by the timer topic first.
FIRST_MS, LAST_MS = HOUR_MS, 71 * HOUR_MS
MEASURED_S = 30.0
CORE_SHARE_MAX = 0.005
RESIDENT_MAX_MB = 100


def fill(folder: Path) -> float:
    """Makes a store in which they wait; the seconds that it took to take them in."""
    now_ms = time.time_ns() // 1_000_000
    step_ms = (LAST_MS - FIRST_MS) / COUNT
    with Store.open(folder, flush="async", index_entries=COUNT, disk_refuse_ratio=1.0) as store:
        for first in range(0, COUNT, BATCH):
            store.append(
                [waiting(number, now_ms + FIRST_MS + int(number * step_ms)) for number in range(first, first + BATCH)]
            )
        store.flush()
        store.wait_visible(store.log_end, timeout_s=60)
        began = time.monotonic()
        timers = Timers.start(store)
        while timers.statistics().taken_in < COUNT:
            time.sleep(0.01)
        took_s = time.monotonic() - began
        timers.close()
    return took_s


def waiting(number: int, due_ms: int) -> Message:
    properties = {
        "UNIQ_KEY": f"{number:032X}",
        "TIMER_OUT_MS": str(due_ms // 1_000 * 1_000),
        "REAL_TOPIC": "orders",
        "REAL_QID": "0",
    }
    return Message("rmq_sys_wheel_timer", b"x" * 100, queue_id=0, properties=properties)


def resident_mb(process_id: int) -> float:
    fields = Path(f"/proc/{process_id}/smaps_rollup").read_text(encoding="utf-8").split()
    return int(fields[fields.index("Anonymous:") + 1]) / 1024


def share_of_a_core(folder: Path) -> tuple[float, float]:
    """How much of a core a broker takes that nobody talks to, and its own memory in megabytes."""
    with ServerProcess("broker", folder, "--port=0") as broker:
        # What the start leaves to do is done by then.
        time.sleep(3)
        before_s, began = cpu_s(broker.process.pid), time.monotonic()
        time.sleep(MEASURED_S)
        share = (cpu_s(broker.process.pid) - before_s) / (time.monotonic() - began)
        memory_mb = resident_mb(broker.process.pid)
        assert broker.stop() == 0
    return share, memory_mb


@pytest.mark.timeout(600)
def test_a_million_timers_wait(tmp_path: Path) -> None:
    idle, idle_mb = share_of_a_core(tmp_path / "empty")
    took_s = fill(tmp_path / "full")
    busy, busy_mb = share_of_a_core(tmp_path / "full")
    print(
        f"\n{COUNT:,} timers: taken in at {COUNT / took_s:,.0f} a second; while they wait {busy:.2%} of a core and "
        f"{busy_mb:.0f} MB, a broker without them {idle:.2%} and {idle_mb:.0f} MB"
    )
    assert busy < CORE_SHARE_MAX
    assert busy_mb < RESIDENT_MAX_MB
