"""Committed messages that are for later: none of ours is, but what Apache's broker took may be."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.transaction.room_desk import GROUP, TOPIC, Place, RoomDesk

from escrowmq import _core
from escrowmq.broker.delivery.levels import DelayLevels
from escrowmq.broker.delivery.timing import TimerRules
from escrowmq.broker.later_commits import PART_OF_NAMES, LaterCommits
from escrowmq.broker.ports import AppendedMessage
from escrowmq.model import names
from escrowmq.protocol import properties
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.ending import Ending
from escrowmq.transaction.topics import HALF_TOPIC

LEVELS = DelayLevels((1_000, 5_000, 60_000))
RULES = TimerRules(precision_ms=1_000, delay_max_ms=3_600_000, slot_messages_max=2**31 - 1)


class Delivery:
    """Who is told of messages that wait, by level, and by the end of the log."""

    def __init__(self) -> None:
        self.postponed_at: list[int] = []
        self.timed: list[int] = []
        self.broken_by: str | None = None

    def postponed(self, level: int, message: AppendedMessage) -> None:
        assert message.end_offset > 0
        self.postponed_at.append(level)

    def offsets(self) -> None:
        raise NotImplementedError

    def appended(self, end_offset: int) -> None:
        self.timed.append(end_offset)

    def count_at(self, time_ms: int) -> int:
        raise NotImplementedError

    checkpoint = metrics = offsets


@pytest.fixture
def delivery() -> Delivery:
    return Delivery()


@pytest.fixture
def room(tmp_path: Path, delivery: Delivery) -> Iterator[RoomDesk]:
    desk = RoomDesk(tmp_path)
    later = LaterCommits(
        LEVELS,
        delivery,  # type: ignore[arg-type]
        delivery,  # type: ignore[arg-type]
        timer_rules=lambda: RULES,
        wall_ms=desk.clock.wall_ms,
    )
    desk.ending = Ending(desk.index, desk.store, desk.journal, desk.counters, later=later)
    yield desk
    desk.close()


def apache_half(room: RoomDesk, **more: str) -> Place:
    """A half message as Apache's broker takes it, which does not look for a delay."""
    pairs = {
        "TRAN_MSG": "true",
        "PGROUP": GROUP,
        "UNIQ_KEY": "A",
        "__transactionId__": "A",
        "REAL_TOPIC": TOPIC,
        "REAL_QID": "1",
        **more,
    }
    message = _core.Message(HALF_TOPIC, b"body", properties=properties.encode(pairs), born_timestamp_ms=1)
    (receipt,) = room.journal.append([message])
    room.settle()
    return Place(receipt.queue_offset, receipt.log_offset)


def test_one_with_a_level_waits_in_its_queue_and_is_committed(room: RoomDesk, delivery: Delivery) -> None:
    place = apache_half(room, DELAY="3")
    assert room.end(place, Decision.COMMIT).code == ResponseCode.SUCCESS
    assert room.delivered() == []
    (waiting,) = room.store.read(names.SCHEDULE_TOPIC, 2, 0)
    assert bytes(waiting.body) == b"body"
    assert (waiting.prepared_transaction_offset, waiting.sys_flag & 0xC) == (place.log_offset, 0x8)
    found = (waiting.find_property("REAL_TOPIC"), waiting.find_property("REAL_QID"), waiting.find_property("DELAY"))
    assert found == (TOPIC, "1", "3")
    assert delivery.postponed_at == [3]
    assert [one.state for one in room.index.decided()] == ["committed"]


def test_a_level_beyond_the_last_counts_as_the_last(room: RoomDesk, delivery: Delivery) -> None:
    room.end(apache_half(room, DELAY="18"), Decision.COMMIT)
    assert delivery.postponed_at == [3]


def test_one_with_a_time_of_its_own_waits_among_the_timers(room: RoomDesk, delivery: Delivery) -> None:
    due_ms = room.clock.wall_ms() + 60_000
    room.end(apache_half(room, TIMER_DELIVER_MS=str(due_ms)), Decision.COMMIT)
    assert room.delivered() == []
    (waiting,) = room.store.read(names.TIMER_TOPIC, 0, 0)
    assert int(waiting.find_property("TIMER_OUT_MS") or 0) in range(due_ms - 1_000, due_ms)
    assert len(delivery.timed) == 1
    assert room.end(Place(0, 0), Decision.COMMIT).code == ResponseCode.SUCCESS
    assert len(list(room.store.iterate(names.TIMER_TOPIC, 0))) == 1


@pytest.mark.parametrize("text", ["1", "no time", "999999999999999999"])
def test_one_whose_time_has_come_or_is_none_is_delivered_at_once(room: RoomDesk, text: str) -> None:
    room.end(apache_half(room, TIMER_DELIVER_MS=text), Decision.COMMIT)
    assert room.delivered() == ["A"]


def test_one_that_only_speaks_of_delays_is_delivered_at_once(room: RoomDesk) -> None:
    assert all(PART_OF_NAMES in name.encode() for name in (properties.DELAY, *properties.TIMERS))
    room.end(apache_half(room, note="NO DELAY"), Decision.COMMIT)
    assert room.delivered() == ["A"]


def test_one_that_waits_is_committed_also_after_a_restart_and_not_twice(room: RoomDesk, delivery: Delivery) -> None:
    place = apache_half(room, DELAY="1")
    room.end(place, Decision.COMMIT)
    room.reopen()
    assert room.pending() == []
    assert room.end(place, Decision.COMMIT).code == ResponseCode.SUCCESS
    assert room.end(place, Decision.ROLLBACK).code == ResponseCode.ILLEGAL_OPERATION
    assert len(list(room.store.iterate(names.SCHEDULE_TOPIC, 0))) == 1
    assert delivery.postponed_at == [1]
