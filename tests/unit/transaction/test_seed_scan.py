"""An Apache broker that takes the store over asks about exactly what the index lists as pending."""

from pathlib import Path

import pytest
from tests.unit.transaction import seed_scan
from tests.unit.transaction.room_desk import RoomDesk

from escrowmq.transaction.decisions import Decision

LATER_MS = 3_600_000


def test_it_asks_about_what_is_pending_and_nothing_else(room: RoomDesk) -> None:
    room.connect()
    found = {name: room.prepare(name) for name in "ABCDEF"}
    room.end(found["A"], Decision.COMMIT)
    room.end(found["C"], Decision.ROLLBACK)
    room.round()
    room.end(found["D"], Decision.COMMIT)
    half_offset, op_offset = room.journal.progress()
    scan = seed_scan.check(room.store, half_offset, op_offset, now_ms=room.clock.wall_ms() + LATER_MS)
    assert scan is not None
    pending = room.index.pending()
    assert [transaction.unique_id for transaction in pending] == ["B", "E", "F"]
    assert scan.asked == [transaction.half_offset for transaction in pending]


def test_it_pulls_op_messages_until_it_knows(room: RoomDesk) -> None:
    places = [room.prepare(f"{number:03}") for number in range(100)]
    for place in places[1:]:
        room.end(place, Decision.ROLLBACK)
    scan = seed_scan.check(room.store, 0, 0, now_ms=room.clock.wall_ms() + LATER_MS)
    assert scan is not None
    assert (scan.asked, scan.half_offset, scan.op_offset) == ([0], 100, 99)


def test_where_everything_is_decided_it_has_nothing_to_read(room: RoomDesk) -> None:
    for number in range(5):
        room.end(room.prepare(str(number)), Decision.COMMIT)
    assert room.journal.progress() == (5, 5)


def test_what_one_pending_message_holds_back_is_kept(room: RoomDesk) -> None:
    places = [room.prepare(str(number)) for number in range(5)]
    for place in places[2:]:
        room.end(place, Decision.COMMIT)
    room.end(places[0], Decision.COMMIT)
    # The op records behind the pending one matter; they come before that of the first message.
    assert room.journal.progress() == (1, 0)
    room.end(places[1], Decision.ROLLBACK)
    assert room.journal.progress() == (5, 5)


@pytest.mark.parametrize(("half_offset", "op_offset"), [(-1, 0), (0, -1)])
def test_a_queue_without_progress_is_skipped(tmp_path: Path, half_offset: int, op_offset: int) -> None:
    room = RoomDesk(tmp_path)
    assert seed_scan.check(room.store, half_offset, op_offset, now_ms=0) is None
    room.close()
