"""How far an Apache broker that takes over need not look."""

from tests.unit.transaction.room_desk import RoomDesk, an_end

from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.journal import OPS_COUNT_MAX


def test_what_the_journal_keeps_does_not_grow_with_what_is_decided(room: RoomDesk) -> None:
    old = room.prepare("old")
    for number in range(3 * OPS_COUNT_MAX):
        room.ending.end([an_end(room.prepare(str(number)), Decision.ROLLBACK)])
    assert len(room.journal._ops) <= OPS_COUNT_MAX
    # The first op record that names one behind the old half message still matters.
    assert room.journal.progress() == (0, 0)
    room.end(old, Decision.ROLLBACK)
    last = 3 * OPS_COUNT_MAX + 1
    assert room.journal.progress() == (last, last)
