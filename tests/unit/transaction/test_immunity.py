"""CHECK_IMMUNITY_TIME_IN_SECONDS: an immune half message holds up no other, in our store and in one that Apache had."""

from tests.unit.transaction import seed_scan
from tests.unit.transaction.room_desk import Place, RoomDesk

from escrowmq import _core
from escrowmq.protocol import properties
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.topics import HALF_TOPIC, OP_TOPIC


def test_one_that_is_immune_does_not_hold_up_those_behind_it(room: RoomDesk) -> None:
    room.connect()
    room.prepare("immune", CHECK_IMMUNITY_TIME_IN_SECONDS="3600")
    room.prepare("A")
    room.prepare("B")
    assert sorted(question.unique_id for question in room.round()) == ["A", "B"]
    # Nor is it put back for that: its one copy is still the first.
    (transaction,) = [one for one in room.index.pending() if one.unique_id == "immune"]
    assert (transaction.half_offset, transaction.checks) == (0, 0)
    room.clock.advance(3_600_000)
    assert "immune" in [question.unique_id for question in room.round()]


def put_back_by_apache(room: RoomDesk) -> Place:
    """The copy of the first half message that Apache's broker appends while it is immune; it writes no op for that."""
    (half,) = room.store.read(HALF_TOPIC, 0, 0, count_max=1)
    pairs = {**half.properties, properties.PREPARED_QUEUE_OFFSET: "0", properties.CHECK_TIMES: "0"}
    (receipt,) = room.store.append([_core.Message.copy_of(half, properties=properties.encode(pairs))])
    room.settle()
    return Place(receipt.queue_offset, receipt.log_offset)


def test_a_copy_that_apache_put_back_for_its_immunity_is_the_same_transaction(room: RoomDesk) -> None:
    first = room.prepare("immune", CHECK_IMMUNITY_TIME_IN_SECONDS="3600")
    copy = put_back_by_apache(room)
    room.reopen()
    (transaction,) = room.index.pending()
    assert (transaction.root_log_offset, transaction.half_offset) == (first.log_offset, copy.half_offset)
    assert room.end(first, Decision.COMMIT).code == ResponseCode.SUCCESS
    assert room.end(copy, Decision.COMMIT).code == ResponseCode.SUCCESS
    assert room.delivered() == ["immune"]
    # Both are named, so that Apache's broker, which begins behind the first, asks about neither.
    (op,) = room.store.iterate(OP_TOPIC, 0)
    assert bytes(op.body) == b"0,1,"


def test_an_apache_broker_that_takes_over_finds_an_immune_one_where_it_was(room: RoomDesk) -> None:
    room.connect()
    room.prepare("immune", CHECK_IMMUNITY_TIME_IN_SECONDS="3600")
    room.prepare("A")
    room.round()
    half_offset, op_offset = room.journal.progress()
    later_ms = room.clock.wall_ms() + 7_200_000
    scan = seed_scan.check(room.store, half_offset, op_offset, now_ms=later_ms)
    assert scan is not None
    # The immune one at its first place, the other at that of its copy.
    assert scan.asked == [0, 2]
