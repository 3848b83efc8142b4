"""A disk that is too full for new messages: what was taken is decided, asked about and given up all the same."""

import pytest
from tests.unit.transaction.room_desk import Crash, RoomDesk

from escrowmq.errors import DiskFull
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.topics import DISCARD_TOPIC

ANY_USE = 1e-9


def fill(room: RoomDesk) -> None:
    """From now on the disk is too full, and the broker starts again."""
    room.disk_refuse_ratio = ANY_USE
    room.reopen()


@pytest.mark.parametrize(("decision", "delivered"), [(Decision.COMMIT, ["A"]), (Decision.ROLLBACK, [])])
def test_prepares_are_refused_and_decisions_are_not(room: RoomDesk, decision: Decision, delivered: list[str]) -> None:
    place = room.prepare("A")
    fill(room)
    with pytest.raises(DiskFull):
        room.prepare("B")
    assert room.end(place, decision).code == ResponseCode.SUCCESS
    assert room.delivered() == delivered
    assert room.pending() == []
    # A contradiction is written down too.
    other = Decision.ROLLBACK if decision is Decision.COMMIT else Decision.COMMIT
    assert room.end(place, other).code == ResponseCode.ILLEGAL_OPERATION


def test_producers_are_asked_and_what_nobody_decides_is_given_up(room: RoomDesk) -> None:
    room.prepare("A")
    room.connect()
    fill(room)
    asked = [len(room.round()) for _ in range(room.rules.checks_max + 1)]
    assert asked == [1] * room.rules.checks_max + [0]
    assert room.discarded() == ["A"]
    (discarded,) = room.store.iterate(DISCARD_TOPIC, 0)
    assert discarded.unique_id == "A"


def test_what_a_crash_left_unmarked_is_marked_at_the_start(room: RoomDesk) -> None:
    place = room.prepare("A")
    room.crash_after(1)
    with pytest.raises(Crash):
        room.end(place, Decision.COMMIT)
    fill(room)
    assert room.delivered() == ["A"]
    assert room.index.unmarked() == []
