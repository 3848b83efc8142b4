"""A clock that is moved on, and a store that goes by it."""

import time
from pathlib import Path
from typing import Any

import pytest

from escrowmq import Clock, Message, Store

DAY_MS = 86_400_000
MINUTE_MS = 60_000
PATIENCE_S = 20.0
STORE: dict[str, Any] = {
    "segment_size_bytes": 1 << 16,
    "queue_file_entries": 1000,
    "index_slots": 100,
    "index_entries": 1000,
    "disk_clean_ratio": 1.0,
    "disk_force_ratio": 1.0,
    "disk_refuse_ratio": 1.0,
}


def appended_at_ms(store: Store) -> int:
    (receipt,) = store.append([Message("orders", b"x" * 1000)])
    return receipt.store_timestamp_ms


def test_a_clock_tells_the_machines_time_until_it_is_moved_on() -> None:
    clock = Clock()
    assert abs(clock.wall_ms() - time.time_ns() // 1_000_000) < MINUTE_MS
    wall_ms, monotonic_ms = clock.wall_ms(), clock.monotonic_ms()
    clock.advance(DAY_MS)
    assert DAY_MS <= clock.wall_ms() - wall_ms < DAY_MS + MINUTE_MS
    assert DAY_MS <= clock.monotonic_ms() - monotonic_ms < DAY_MS + MINUTE_MS


def test_a_clock_that_stands_moves_only_when_it_is_moved(tmp_path: Path) -> None:
    clock = Clock(stands=True)
    with Store.open(tmp_path, clock=clock, **STORE) as store:
        first_ms = appended_at_ms(store)
        store.flush()
        assert appended_at_ms(store) == first_ms == clock.wall_ms()
        clock.advance(DAY_MS)
        assert appended_at_ms(store) == first_ms + DAY_MS


@pytest.mark.parametrize("by_ms", [-1, 1 << 32])
def test_a_clock_does_not_go_back_or_too_far(by_ms: int) -> None:
    with pytest.raises(OverflowError):
        Clock().advance(by_ms)


def test_store_times_follow_the_clock(tmp_path: Path) -> None:
    clock = Clock()
    with Store.open(tmp_path, clock=clock, **STORE) as store:
        first_ms = appended_at_ms(store)
        clock.advance(DAY_MS)
        assert DAY_MS <= appended_at_ms(store) - first_ms < DAY_MS + MINUTE_MS


def test_segments_expire_by_the_clock_and_without_being_asked(tmp_path: Path) -> None:
    clock = Clock()
    with Store.open(tmp_path, clock=clock, retention_age_ms=DAY_MS, checkpoint_interval_ms=10, **STORE) as store:
        while store.statistics().segments < 3:
            appended_at_ms(store)
        store.wait_visible(store.log_end)
        clock.advance(DAY_MS)
        # The hour in which old segments go is one of the next day's.
        deadline_s = time.monotonic() + PATIENCE_S
        while store.log_start == 0:
            assert time.monotonic() < deadline_s
            clock.advance(30 * MINUTE_MS)
            time.sleep(0.02)


def test_old_segments_go_at_another_hour_when_somebody_asks_for_it(tmp_path: Path) -> None:
    clock = Clock()
    other_hour = (time.localtime().tm_hour + 12) % 24
    options = {**STORE, "retention_age_ms": DAY_MS, "retention_hour": other_hour, "checkpoint_interval_ms": 10}
    with Store.open(tmp_path, clock=clock, **options) as store:
        while store.statistics().segments < 3:
            appended_at_ms(store)
        store.wait_visible(store.log_end)
        clock.advance(DAY_MS)
        assert store.expire().segments_expired == 0
        store.expire_soon()
        deadline_s = time.monotonic() + PATIENCE_S
        while store.log_start == 0:
            assert time.monotonic() < deadline_s
            time.sleep(0.02)


def test_other_rules_for_expiry_hold_at_once(tmp_path: Path) -> None:
    with Store.open(tmp_path, retention_age_ms=DAY_MS, **STORE) as store:
        while store.statistics().segments < 3:
            appended_at_ms(store)
        store.wait_visible(store.log_end)
        assert store.expire(any_hour=True).segments_expired == 0
        store.set_retention(age_ms=0, hour=4, disk_clean_ratio=1.0)
        assert store.expire(any_hour=True).segments_expired > 0
        store.expire_queues()
