"""Half messages that leave old segments, and prepares that are cut short: every point at which the process may die."""

import pytest
from tests.unit.transaction.room_desk import TOPIC, Crash, RoomDesk

from escrowmq import _core
from escrowmq.protocol import properties
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.rescuing import Rescue
from escrowmq.transaction.topics import HALF_TOPIC
from escrowmq.transaction.upkeep import put_back_before


def put_all_back(room: RoomDesk) -> int:
    count = put_back_before(room.store.log_end, room.index, room.store, room.journal)
    room.settle()
    return count


@pytest.mark.parametrize("written", [0, 1])
def test_every_crash_point_of_a_prepare(room: RoomDesk, written: int) -> None:
    """What was not acknowledged may be there or not; it is one transaction at most, and can be decided."""
    room.crash_after(written)
    with pytest.raises(Crash):
        room.prepare("A")
    room.reopen()
    assert room.pending() == ["A"] * written
    assert room.delivered() == []
    for found in room.index.pending():
        (half,) = room.store.iterate(HALF_TOPIC, 0)
        assert half.queue_offset == found.half_offset


def test_what_leaves_an_old_segment_keeps_its_questions_and_its_first_copy_can_still_be_decided(room: RoomDesk) -> None:
    place = room.prepare("A")
    room.connect()
    room.round()
    assert put_all_back(room) == 1
    (transaction,) = room.index.pending()
    assert (transaction.checks, transaction.half_offset, transaction.live_half_offsets) == (1, 2, [2])
    assert room.end(place, Decision.COMMIT).code == ResponseCode.SUCCESS
    assert room.delivered() == ["A"]


# Two copies and their op.
@pytest.mark.parametrize("written", [0, 1, 2, 3])
def test_every_crash_point_of_leaving_an_old_segment(room: RoomDesk, written: int) -> None:
    places = [room.prepare(name) for name in "AB"]
    room.crash_after(written)
    with pytest.raises(Crash):
        put_all_back(room)
    room.reopen()
    assert sorted(room.pending()) == ["A", "B"]
    room.end(places[0], Decision.COMMIT)
    room.end(places[1], Decision.ROLLBACK)
    room.reopen()
    assert (room.pending(), room.delivered(), room.index.unmarked()) == ([], ["A"], [])


def test_a_store_opens_whose_committed_one_apache_had_put_back_often(room: RoomDesk) -> None:
    """Apache's broker died between the final message and its op record."""
    half = room.store.record_at(room.prepare("A", CHECK_IMMUNITY_TIME_IN_SECONDS="259200").log_offset)
    room.append_apaches(half, {"TRAN_PREPARED_QUEUE_OFFSET": "0"}, count=2_000)
    final = _core.Message.copy_of(
        half, topic=TOPIC, queue_id=1, sys_flag=8, prepared_transaction_offset=half.log_offset
    )
    room.store.append([final])
    room.settle()
    room.reopen()
    assert room.delivered() == ["A"]
    assert (room.pending(), room.index.unmarked()) == ([], [])


def test_one_that_can_not_be_put_back_keeps_no_other_where_it_is(room: RoomDesk) -> None:
    """Apache takes half messages whose properties leave no room for a counter."""
    place = room.prepare("A")
    half = room.store.record_at(place.log_offset)
    room.append_full(half)
    room.reopen()
    assert put_back_before(room.store.log_end, room.index, room.store, room.journal) == 1
    assert room.pending() == ["full", "A"]


def test_one_with_an_old_copy_of_apaches_is_put_back_too(room: RoomDesk) -> None:
    """A copy that no op record names holds its segment, though the newest copy is elsewhere."""
    place = room.prepare("A")
    half = room.store.record_at(place.log_offset)
    for _ in range(3):
        room.store.append([_core.Message("filler", b"x" * 900_000)])
    room.append_apaches(half, {"TRANSACTION_CHECK_TIMES": "1"})
    room.reopen()
    last_segment = room.store.log_end - room.store.log_end % (1 << 20)
    put_back_before(last_segment, room.index, room.store, room.journal)
    first = room.index.first_live_log_offset
    assert first is not None
    assert first >= last_segment


def test_a_copy_that_is_put_back_for_its_segment_is_no_new_question(room: RoomDesk) -> None:
    room.connect()
    room.prepare("A")
    (first,) = room.round()
    put_back_before(room.store.log_end + 1, room.index, room.store, room.journal)
    room.settle()
    (second,) = room.round()
    numbers = [
        record.find_property(properties.CHECK_TIMES)
        for question in (first, second)
        for record in _core.decode_records(question.body)
    ]
    assert len(set(numbers)) == len(numbers), numbers


def test_half_messages_that_are_more_than_a_segment_are_not_put_back_for_ever(room: RoomDesk) -> None:
    """Once a second, while the disk stays as full as it is."""
    for number in range(30):
        room.prepare(f"{number}", body=b"x" * 100_000)
    rescue = Rescue(room.index, room.store, room.journal, segment_size_bytes=1 << 20)
    log_start, put_back = 0, 0
    for _ in range(20):
        put_back += rescue.run(is_disk_full=True, log_start=log_start, log_end=room.store.log_end)
        room.settle()
        # Expiry takes every segment that nothing is held in.
        first = room.index.first_live_log_offset
        assert first is not None
        log_start = first - first % (1 << 20)
    # What stood in the segment that the log ended in then stays there.
    assert 20 <= put_back <= 30
    assert rescue.run(is_disk_full=False, log_start=log_start, log_end=room.store.log_end) == 0
    assert rescue.run(is_disk_full=True, log_start=log_start, log_end=room.store.log_end) > 0


def test_nothing_is_put_back_whose_segment_would_stay(room: RoomDesk) -> None:
    room.prepare("A")
    rescue = Rescue(room.index, room.store, room.journal, segment_size_bytes=1 << 20)
    assert rescue.run(is_disk_full=True, log_start=0, log_end=room.store.log_end) == 0
    room.store.append([_core.Message("filler", b"x" * 900_000) for _ in range(2)])
    assert rescue.run(is_disk_full=False, log_start=0, log_end=room.store.log_end) == 0
    assert rescue.run(is_disk_full=True, log_start=0, log_end=room.store.log_end) == 1
