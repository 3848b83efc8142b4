"""Check-back: who is asked when, what counts, and when it ends."""

import pytest
from tests.unit.transaction.room_desk import INTERVAL_MS, Crash, RoomDesk, places

from escrowmq import _core
from escrowmq.transaction import checking
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.ruling import CheckRules
from escrowmq.transaction.topics import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC

COMMIT, ROLLBACK = Decision.COMMIT, Decision.ROLLBACK


class CountingRecords:
    """The records of a store, and which of them were read."""

    def __init__(self, store: _core.Store, read: list[int]) -> None:
        self._store = store
        self._read = read

    def record_at(self, log_offset: int) -> _core.Record:
        self._read.append(log_offset)
        return self._store.record_at(log_offset)


def checks_of(room: RoomDesk) -> int:
    (transaction,) = room.index.pending()
    return transaction.checks


def test_its_producer_is_asked_with_the_real_topic_and_the_offsets_of_the_newest_copy(room: RoomDesk) -> None:
    room.connect()
    room.prepare("A")
    (asked,) = room.round()
    (transaction,) = room.index.pending()
    assert (
        (asked.half_offset, asked.log_offset)
        == (transaction.half_offset, transaction.log_offset)
        == (1, asked.log_offset)
    )
    (record,) = _core.decode_records(asked.body)
    assert (record.topic, record.queue_id, bytes(record.body)) == ("orders", 1, b"body")
    assert record.find_property("TRANSACTION_CHECK_TIMES") == "1"
    assert record.queue_offset == asked.half_offset


def test_a_young_one_is_not_asked_about(room: RoomDesk) -> None:
    room.connect()
    room.clock.advance(INTERVAL_MS - 1_000)
    room.prepare("A")
    assert room.round(after_ms=1_000) == []
    assert len(room.round()) == 1


def test_one_with_an_immunity_of_its_own_is_left_alone_as_long(room: RoomDesk) -> None:
    room.connect()
    room.prepare("A", CHECK_IMMUNITY_TIME_IN_SECONDS="70")
    assert [len(room.round()) for _ in range(3)] == [0, 0, 1]


def test_without_a_producer_it_waits_and_costs_nothing(room: RoomDesk) -> None:
    room.prepare("A")
    end = room.store.log_end
    for _ in range(10):
        assert room.round() == []
    assert room.store.log_end == end
    room.connect()
    assert len(room.round()) == 1
    assert checks_of(room) == 1


def test_a_question_that_did_not_leave_is_asked_again_and_not_counted(room: RoomDesk) -> None:
    room.connect()
    room.prepare("A")
    (first,) = room.round(leaves=False)
    room.disconnect()
    room.connect(connection=2)
    (second,) = room.round()
    assert (first.half_offset, first.connection, second.half_offset, second.connection) == (1, 1, 1, 2)
    assert checks_of(room) == 1
    (third,) = room.round()
    assert (third.half_offset, checks_of(room)) == (2, 2)


def test_after_a_restart_the_last_question_is_asked_again_and_not_counted(room: RoomDesk) -> None:
    room.connect()
    room.prepare("A")
    (before,) = room.round()
    room.reopen()
    (after,) = room.round()
    assert before.half_offset == after.half_offset
    assert checks_of(room) == 1


def test_the_client_that_prepared_is_asked_first_and_another_when_it_is_gone(room: RoomDesk) -> None:
    room.connect(1, "10.0.0.9:1")
    room.connect(2, "10.0.0.1:7")
    room.prepare("A")
    assert [asked.connection for asked in room.round()] == [2]
    room.peers.connected.pop()
    assert [asked.connection for asked in room.round()] == [1]


def test_it_is_given_up_after_its_last_question(room: RoomDesk) -> None:
    room.connect()
    place = room.prepare("A")
    assert [len(room.round()) for _ in range(5)] == [1, 1, 1, 0, 0]
    assert room.pending() == []
    (discarded,) = room.store.read(DISCARD_TOPIC, 0, 0)
    assert discarded.find_property("TRANSACTION_CHECK_TIMES") == "3"
    assert (discarded.find_property("REAL_TOPIC"), discarded.find_property("REAL_QID")) == ("orders", "1")
    assert room.end(place, COMMIT).remark == "the transaction is discarded already"
    assert room.delivered() == []


def test_one_that_is_older_than_log_files_get_is_given_up_without_a_producer(room: RoomDesk) -> None:
    room.rules = CheckRules(6_000, 3, 100_000)
    room.prepare("A")
    assert [room.round() for _ in range(3)] == [[], [], []]
    assert room.pending() == ["A"]
    room.round()
    assert (room.pending(), room.discarded()) == ([], ["A"])


def test_a_copy_and_the_mark_of_the_one_it_replaces_are_one_append(room: RoomDesk) -> None:
    room.connect()
    for name in "AB":
        room.prepare(name)
    room.log.batch_sizes.clear()
    room.round()
    assert room.log.batch_sizes == [3]
    (op,) = room.store.read(OP_TOPIC, 0, 0)
    assert (bytes(op.body), op.find_property("ESCROWMQ_DECIDED")) == (b"0,1,", "P0;P1")


def test_what_is_decided_while_its_question_waits_is_not_asked(room: RoomDesk) -> None:
    room.connect()
    place = room.prepare("A")
    room.clock.advance(INTERVAL_MS)
    # The copy is appended; its question waits until it can be read.
    room.check_back.run()
    room.end(place, COMMIT)
    assert room.round(after_ms=0) == []
    assert room.delivered() == ["A"]


def test_no_check_after_a_decision(room: RoomDesk) -> None:
    room.connect()
    for name, decision in (("A", COMMIT), ("B", ROLLBACK)):
        room.end(room.prepare(name), decision)
    assert room.round() == []


def test_more_than_a_slice_are_all_asked_in_one_round(room: RoomDesk) -> None:
    room.connect()
    names = [f"{number:04}" for number in range(150)]
    for name in names:
        room.prepare(name)
    assert [asked.unique_id for asked in room.round()] == names
    assert [asked.unique_id for asked in room.round()] == names


@pytest.mark.parametrize("written", [0, 1, 2])
def test_every_crash_point_of_a_put_back(room: RoomDesk, written: int) -> None:
    room.connect()
    place = room.prepare("A")
    room.clock.advance(INTERVAL_MS)
    room.crash_after(written)
    with pytest.raises(Crash):
        room.check_back.run()
    room.reopen()
    assert room.pending() == ["A"]
    # Whether the copy was written or not: it was not asked about, and is asked about as the first.
    (asked,) = room.round()
    assert checks_of(room) == 1
    assert asked.half_offset == 1
    assert room.end(place, COMMIT).code == 0
    assert room.delivered() == ["A"]
    assert room.index.first_live_half_offset is None


@pytest.mark.parametrize("written", [0, 1, 2])
def test_every_crash_point_of_a_discard(room: RoomDesk, written: int) -> None:
    room.connect()
    room.prepare("A")
    for _ in range(3):
        room.round()
    room.clock.advance(INTERVAL_MS)
    room.crash_after(written)
    with pytest.raises(Crash):
        room.check_back.run()
    room.reopen()
    assert room.pending() == (["A"] if written == 0 else [])
    # Once more it would have to be asked first: whether the last question left is not known any more.
    room.round()
    room.round()
    assert (room.pending(), room.discarded()) == ([], ["A"])
    half = room.store.queue(HALF_TOPIC, 0)
    assert half is not None
    assert half.max_offset == 4


def test_every_decision_of_a_round_reaches_its_newest_copy(room: RoomDesk) -> None:
    room.connect()
    for name in "ABC":
        room.prepare(name)
    first, second, third = places(room.round())
    room.end(first, COMMIT)
    room.end(second, ROLLBACK)
    assert [asked.unique_id for asked in room.round()] == ["C"]
    room.end(third, COMMIT)
    assert room.delivered() == ["A", "C"]


def test_what_was_taken_is_asked_about_whatever_the_limits_are_now(room: RoomDesk) -> None:
    room.connect()
    room.prepare("large", body=b"x" * 10_000)
    room.body_size_max_bytes = 1_000
    room.reopen()
    assert [asked.unique_id for asked in room.round()] == ["large"]


def test_one_that_can_not_be_put_back_keeps_no_other_from_being_asked_about(room: RoomDesk) -> None:
    """Apache takes half messages whose properties leave no room for a counter."""
    room.connect()
    full = room.store.record_at(room.prepare("A").log_offset)
    room.append_full(full)
    room.reopen()
    assert [asked.unique_id for asked in room.round()] == ["A"]
    assert room.pending() == ["full", "A"]
    # It is given up at last, as others are.
    room.clock.advance(room.rules.retention_ms)
    room.round()
    assert sorted(room.discarded()) == ["A", "full"]


def test_many_that_are_immune_keep_nobody_else_from_being_asked_about(
    room: RoomDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round that takes too long ends where it is, here after 30 ms and not 60,000; the next one goes on there."""
    monkeypatch.setattr(checking, "ROUND_MS_MAX", 30)
    room.connect()
    for number in range(400):
        room.prepare(f"immune {number}", CHECK_IMMUNITY_TIME_IN_SECONDS="86400")
    room.prepare("ripe")
    asked = [question.unique_id for _ in range(20) for question in room.round()]
    assert "ripe" in asked


def test_an_old_one_that_nobody_can_be_asked_about_has_no_other_read(
    room: RoomDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.rules = CheckRules(6_000, 3, 100_000)
    room.prepare("old")
    room.clock.advance(90_000)
    for number in range(100):
        room.prepare(str(number))
    read: list[int] = []
    monkeypatch.setattr(room.check_back, "_records", CountingRecords(room.store, read))
    room.round()
    assert (room.discarded(), len(read)) == (["old"], 1)
    assert len(room.pending()) == 100


def test_a_topic_that_can_not_be_made_keeps_nothing_from_being_written(room: RoomDesk) -> None:
    room.connect()
    room.prepare("A")

    def fail(_: str) -> None:
        raise OSError("no room for a list of topics")

    room.make_topic = fail
    room.reopen()
    for _ in range(room.rules.checks_max + 2):
        room.round()
    assert (room.pending(), room.discarded(), room.counters.discarded) == ([], ["A"], 1)
    scan = room.journal.progress()
    assert scan == (room.journal.next_half, room.journal.next_half)
