"""Transactions that were given up and get another chance."""

from tests.unit.transaction.room_desk import Place, RoomDesk

from escrowmq import _core
from escrowmq.protocol import properties
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.resuming import resume
from escrowmq.transaction.topics import DISCARD_TOPIC, HALF_TOPIC

COMMIT = Decision.COMMIT


def discard(room: RoomDesk) -> _core.Record:
    """Has the one that is pending given up; its discard record."""
    room.connect()
    for _ in range(room.rules.checks_max + 1):
        room.round()
    (record,) = room.store.read(DISCARD_TOPIC, 0, 0)
    return record


def test_one_that_apache_had_put_back_for_its_immunity_is_pending_again(room: RoomDesk) -> None:
    place = room.prepare("A")
    half = room.store.record_at(place.log_offset)
    pairs = {**half.properties, properties.PREPARED_QUEUE_OFFSET: "0"}
    room.store.append([_core.Message.copy_of(half, properties=properties.encode(pairs))])
    room.settle()
    room.reopen()
    discarded = discard(room)
    remark, _ = resume(discarded.log_offset, room.index, room.store, room.journal)
    assert (remark, room.pending()) == (None, ["A"])


def test_one_that_was_resumed_and_committed_is_not_delivered_again_by_a_second_resume(room: RoomDesk) -> None:
    room.prepare("A")
    record = discard(room)
    resume(record.log_offset, room.index, room.store, room.journal)
    room.settle()
    (pending,) = room.index.pending()
    room.end(Place(pending.half_offset, pending.log_offset), COMMIT)
    # The operator's first answer was lost, and the command is called again.
    resume(record.log_offset, room.index, room.store, room.journal)
    room.settle()
    for pending in room.index.pending():
        room.end(Place(pending.half_offset, pending.log_offset), COMMIT)
    assert room.delivered() == ["A"]


def test_what_apache_resumed_is_pending_here(room: RoomDesk) -> None:
    """Apache's broker appends our discard record to the half topic, with a counter of 0 and all other properties."""
    place = room.prepare("A")
    record = discard(room)
    half = room.store.record_at(place.log_offset)
    resumed = room.append_apaches(half, {**record.properties, "TRANSACTION_CHECK_TIMES": "0"})
    room.reopen()
    assert room.pending() == ["A"]
    assert room.end(place, COMMIT).code == ResponseCode.ILLEGAL_OPERATION
    # Its broker puts it back with all properties, the root that we gave the discarded one among them.
    room.append_apaches(half, {**record.properties, "TRANSACTION_CHECK_TIMES": "1"})
    room.reopen()
    assert room.pending() == ["A"]
    assert room.end(resumed, COMMIT).code == ResponseCode.SUCCESS
    assert room.delivered() == ["A"]


def test_a_second_resume_is_answered_when_the_first_is_on_disk(room: RoomDesk) -> None:
    room.prepare("A")
    record = discard(room)
    _, first = resume(record.log_offset, room.index, room.store, room.journal)
    _, second = resume(record.log_offset, room.index, room.store, room.journal)
    assert second >= first > record.log_offset


def test_a_resume_takes_no_record_from_the_inside_of_a_message(room: RoomDesk) -> None:
    """Whoever sends a body decides what stands in it, and knows where it goes."""
    room.prepare("A")
    record = discard(room)
    # A message in front tells where the next one's body will stand; the record in that body says that it stands there.
    probe = room.store.append([_core.Message("orders", b"x" * 10, queue_id=0)])[0]
    forged = bytearray(record.bytes)
    room.settle()
    sizes = room.store.record_at(probe.log_offset)
    start = bytes(sizes.bytes).index(b"x" * 10)
    at = probe.end_offset + start
    forged[28:36] = at.to_bytes(8, "big")
    room.store.append([_core.Message("orders", bytes(forged), queue_id=0)])
    room.settle()
    before = len(list(room.store.iterate(HALF_TOPIC, 0)))
    remark, _ = resume(at, room.index, room.store, room.journal)
    room.settle()
    assert remark is not None
    assert len(list(room.store.iterate(HALF_TOPIC, 0))) == before
