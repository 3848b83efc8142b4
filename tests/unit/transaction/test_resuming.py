"""Transactions that were given up and get another chance."""

from tests.unit.transaction.room_desk import RoomDesk

from escrowmq import _core
from escrowmq.protocol import properties
from escrowmq.transaction.resuming import resume
from escrowmq.transaction.topics import DISCARD_TOPIC


def test_one_that_apache_had_put_back_for_its_immunity_is_pending_again(room: RoomDesk) -> None:
    place = room.prepare("A")
    half = room.store.record_at(place.log_offset)
    pairs = {**half.properties, properties.PREPARED_QUEUE_OFFSET: "0"}
    room.store.append([_core.Message.copy_of(half, properties=properties.encode(pairs))])
    room.settle()
    room.reopen()
    room.connect()
    for _ in range(room.rules.checks_max + 1):
        room.round()
    (discarded,) = room.store.read(DISCARD_TOPIC, 0, 0)
    remark, _ = resume(discarded.log_offset, room.index, room.store, room.journal)
    assert (remark, room.pending()) == (None, ["A"])
