"""Decisions: which of them count, what they write, and what a crash leaves of them."""

import json

import pytest
from tests.unit.transaction.room_desk import Crash, Place, RoomDesk, an_end, places

from escrowmq import _core
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.ending import FORGOTTEN_COUNT_MAX
from escrowmq.transaction.topics import AUDIT_TOPIC, HALF_TOPIC, OP_TOPIC
from escrowmq.transaction.upkeep import put_back_before

COMMIT, ROLLBACK = Decision.COMMIT, Decision.ROLLBACK


def test_a_commit_puts_the_message_into_its_own_queue(room: RoomDesk) -> None:
    place = room.prepare("A", TAGS="paid")
    settled = room.end(place, COMMIT)
    assert settled.code == ResponseCode.SUCCESS
    assert settled.end_offset == room.store.log_end
    (final,) = room.store.read("orders", 1, 0)
    assert bytes(final.body) == b"body"
    assert final.sys_flag & 0xC == 0x8
    assert final.prepared_transaction_offset == place.log_offset
    assert (final.born_host, final.born_timestamp_ms) == ("10.0.0.1:7", 1)
    assert final.properties == {
        "TRAN_MSG": "true",
        "PGROUP": "shop",
        "UNIQ_KEY": "A",
        "TAGS": "paid",
        "__transactionId__": "A",
    }
    (op,) = room.store.read(OP_TOPIC, 0, 0)
    assert (bytes(op.body), op.find_property("ESCROWMQ_DECIDED")) == (b"0,", "C0@10.0.0.1:7")


def test_a_rollback_writes_an_op_record_and_nothing_else(room: RoomDesk) -> None:
    place = room.prepare("A")
    assert room.end(place, ROLLBACK).code == ResponseCode.SUCCESS
    assert room.delivered() == []
    (op,) = room.store.read(OP_TOPIC, 0, 0)
    assert (bytes(op.body), op.find_property("ESCROWMQ_DECIDED")) == (b"0,", "R0@10.0.0.1:7")


def test_a_producer_that_does_not_know_changes_nothing(room: RoomDesk) -> None:
    place = room.prepare("A")
    end = room.store.log_end
    assert room.end(place, None).code == ResponseCode.SUCCESS
    assert room.store.log_end == end
    assert room.pending() == ["A"]


@pytest.mark.parametrize("is_reopened", [False, True])
@pytest.mark.parametrize("is_forgotten", [False, True])
@pytest.mark.parametrize("decision", [COMMIT, ROLLBACK])
def test_the_same_again_is_a_success_without_a_second_message(
    room: RoomDesk, decision: Decision, *, is_forgotten: bool, is_reopened: bool
) -> None:
    place = room.prepare("A")
    room.end(place, decision)
    end, delivered = room.store.log_end, room.delivered()
    if is_reopened:
        room.reopen()
    if is_forgotten:
        assert room.index.forget_decided_before(room.clock.wall_ms() + 1) == 1
    assert room.end(place, decision).code == ResponseCode.SUCCESS
    assert (room.store.log_end, room.delivered()) == (end, delivered)


@pytest.mark.parametrize("is_reopened", [False, True])
@pytest.mark.parametrize("is_forgotten", [False, True])
@pytest.mark.parametrize("decision", [COMMIT, ROLLBACK])
def test_a_contradiction_is_refused(
    room: RoomDesk, decision: Decision, *, is_forgotten: bool, is_reopened: bool
) -> None:
    place = room.prepare("A")
    room.end(place, decision)
    delivered = room.delivered()
    if is_reopened:
        room.reopen()
    if is_forgotten:
        room.index.forget_decided_before(room.clock.wall_ms() + 1)
    other = ROLLBACK if decision is COMMIT else COMMIT
    assert room.end(place, other).code == ResponseCode.ILLEGAL_OPERATION
    assert room.delivered() == delivered
    assert room.counters.contradictions == 1


def test_a_contradiction_is_written_down_once(room: RoomDesk) -> None:
    place = room.prepare("A")
    room.end(place, ROLLBACK)
    for _ in range(3):
        room.end(place, COMMIT)
    (audit,) = room.store.read(AUDIT_TOPIC, 0, 0)
    assert json.loads(bytes(audit.body)) == {
        "what": "contradiction",
        "transactionId": "A",
        "group": "shop",
        "topic": "orders",
        "rootLogOffset": place.log_offset,
        "state": "rolled_back",
        "wanted": "committed",
        "who": "10.0.0.1:7",
    }
    assert room.counters.contradictions == 3


@pytest.mark.parametrize(
    ("place", "group", "remark"),
    [
        (Place(0, 0), "another", "The producer group wrong"),
        (Place(7, 0), "shop", "The transaction state table offset wrong"),
        (Place(0, 1), "shop", "Find prepared transaction message failed"),
        (Place(0, -1), "shop", "Find prepared transaction message failed"),
        (Place(0, 1 << 40), "shop", "Find prepared transaction message failed"),
    ],
)
def test_an_end_that_names_another_message_is_refused(room: RoomDesk, place: Place, group: str, remark: str) -> None:
    room.prepare("A")
    settled = room.end(place, COMMIT, group=group)
    assert (settled.code, settled.remark) == (ResponseCode.SYSTEM_ERROR, remark)
    assert room.pending() == ["A"]


def test_a_message_that_is_no_half_message_can_not_be_committed(room: RoomDesk) -> None:
    place = room.prepare("A")
    room.end(place, COMMIT)
    (final,) = room.store.read("orders", 1, 0)
    settled = room.end(Place(0, final.log_offset), COMMIT)
    assert settled.remark == "Find prepared transaction message failed"
    assert room.delivered() == ["A"]


def test_a_batch_is_one_append_with_one_op_record(room: RoomDesk) -> None:
    found = [room.prepare(name) for name in "ABCD"]
    room.log.batch_sizes.clear()
    settled = room.ending.end(
        [an_end(found[0], COMMIT), an_end(found[1], ROLLBACK), an_end(found[2], None), an_end(found[3], COMMIT)]
    )
    assert [answer.code for answer in settled] == [ResponseCode.SUCCESS] * 4
    assert room.log.batch_sizes == [3]
    room.settle()
    assert room.delivered() == ["A", "D"]
    (op,) = room.store.read(OP_TOPIC, 0, 0)
    assert bytes(op.body) == b"0,1,3,"


def test_what_a_batch_decides_twice_counts_once(room: RoomDesk) -> None:
    place = room.prepare("A")
    settled = room.ending.end([an_end(place, ROLLBACK), an_end(place, COMMIT), an_end(place, ROLLBACK)])
    assert [answer.code for answer in settled] == [
        ResponseCode.SUCCESS,
        ResponseCode.ILLEGAL_OPERATION,
        ResponseCode.SUCCESS,
    ]
    # Each is answered when what it says is on disk.
    assert all(answer.end_offset == room.store.log_end for answer in settled)
    room.settle()
    assert room.delivered() == []


def test_a_decision_from_an_old_copy_counts_for_all(room: RoomDesk) -> None:
    room.connect()
    root = room.prepare("A")
    (copy,) = places(room.round())
    assert room.end(root, COMMIT).code == ResponseCode.SUCCESS
    assert room.end(copy, COMMIT).code == ResponseCode.SUCCESS
    assert room.end(copy, ROLLBACK).code == ResponseCode.ILLEGAL_OPERATION
    assert room.delivered() == ["A"]
    assert room.round() == []


@pytest.mark.parametrize("decision", [COMMIT, ROLLBACK])
def test_every_crash_point_of_a_decision(room: RoomDesk, decision: Decision) -> None:
    records = {COMMIT: 2, ROLLBACK: 1}[decision]
    for written in range(records + 1):
        name = f"{decision.name}{written}"
        place = room.prepare(name)
        room.crash_after(written)
        with pytest.raises(Crash):
            room.end(place, decision)
        room.reopen()
        is_decided = written > 0
        assert (name in room.pending()) == (not is_decided)
        # The producer has no answer, and says it again: that is the same decision.
        assert room.end(place, decision).code == ResponseCode.SUCCESS
        assert room.delivered().count(name) == (1 if decision is COMMIT else 0)
        assert not room.index.unmarked()
    half = room.store.queue(HALF_TOPIC, 0)
    assert half is not None
    assert half.max_offset == records + 1


def test_a_contradiction_is_answered_when_what_it_contradicts_is_on_disk(room: RoomDesk) -> None:
    place = room.prepare("A")
    first = room.ending.end([an_end(place, ROLLBACK)])[0]
    room.ending.end([an_end(place, COMMIT)])
    again = room.ending.end([an_end(place, COMMIT)])[0]
    assert again.code == ResponseCode.ILLEGAL_OPERATION
    assert again.end_offset >= first.end_offset


@pytest.mark.parametrize("is_reopened", [False, True])
def test_a_commit_counts_whose_first_half_message_has_left_with_its_segment(
    room: RoomDesk, *, is_reopened: bool
) -> None:
    """The producer knows where it prepared, and nothing of a copy that was put back."""
    place = room.prepare("A")
    for _ in range(3):
        room.store.append([_core.Message("filler", b"x" * 900_000)])
    room.settle()
    last_segment = room.store.log_end - room.store.log_end % (1 << 20)
    assert put_back_before(last_segment, room.index, room.store, room.journal) == 1
    room.settle()
    room.store.hold_from(room.index.first_live_log_offset)
    room.clock.advance(4_000_000_000)
    room.store.set_retention(age_ms=1, hour=4, disk_clean_ratio=1.0)
    room.store.flush()
    assert room.store.expire(any_hour=True).log_start > place.log_offset
    if is_reopened:
        room.reopen()
    assert room.pending() == ["A"]
    settled = room.end(place, COMMIT)
    assert (settled.code, settled.remark) == (ResponseCode.SUCCESS, None)
    assert room.delivered() == ["A"]


def test_what_was_taken_can_be_committed_whatever_the_limits_are_now(room: RoomDesk) -> None:
    place = room.prepare("large", body=b"x" * 10_000)
    room.body_size_max_bytes = 1_000
    room.reopen()
    assert room.end(place, COMMIT).code == ResponseCode.SUCCESS
    assert room.delivered() == ["large"]


@pytest.mark.parametrize("decision", [COMMIT, ROLLBACK])
def test_one_that_apache_put_back_often_can_be_decided(room: RoomDesk, decision: Decision) -> None:
    """A message with an immunity is put back in every round of Apache's, three days long, and keeps all copies."""
    place = room.prepare("A", CHECK_IMMUNITY_TIME_IN_SECONDS="259200")
    half = room.store.record_at(place.log_offset)
    room.append_apaches(half, {"TRAN_PREPARED_QUEUE_OFFSET": "0"}, count=2_000)
    room.reopen()
    assert room.end(place, decision).code == ResponseCode.SUCCESS
    ops = list(room.store.iterate(OP_TOPIC, 0))
    assert sorted(int(number) for op in ops for number in bytes(op.body).split(b",") if number) == list(range(2_001))
    room.reopen()
    assert (room.pending(), room.index.first_live_half_offset) == ([], None)
    assert room.end(place, decision).code == ResponseCode.SUCCESS


def test_what_was_rolled_back_long_ago_is_not_said_to_be_committed(room: RoomDesk) -> None:
    """Another transaction with the same id was: its message is not this one's."""
    rolled_back = room.prepare("A", body=b"one")
    room.end(rolled_back, ROLLBACK)
    committed = room.prepare("A", body=b"two")
    room.end(committed, COMMIT)
    room.index.forget_decided_before(room.clock.wall_ms() + 1)
    assert room.end(rolled_back, COMMIT).code == ResponseCode.ILLEGAL_OPERATION
    assert room.end(committed, COMMIT).code == ResponseCode.SUCCESS
    assert room.end(committed, ROLLBACK).code == ResponseCode.ILLEGAL_OPERATION
    audits = [json.loads(bytes(record.body)) for record in room.store.iterate(AUDIT_TOPIC, 0)]
    assert [(audit["rootLogOffset"], audit["state"], audit["wanted"]) for audit in audits] == [
        (rolled_back.log_offset, "closed", "committed"),
        (committed.log_offset, "committed", "rolled_back"),
    ]


@pytest.mark.parametrize("which", [0, 1])
def test_what_was_committed_long_ago_by_a_copy_is_known_by_every_copy(room: RoomDesk, which: int) -> None:
    room.connect()
    root = room.prepare("A")
    (copy,) = places(room.round())
    room.end((root, copy)[which], COMMIT)
    room.index.forget_decided_before(room.clock.wall_ms() + 1)
    for place in (root, copy):
        assert room.end(place, COMMIT).code == ResponseCode.SUCCESS
    assert room.delivered() == ["A"]


def test_decisions_of_long_ago_cost_a_batch_no_more_than_so_many_looks(room: RoomDesk) -> None:
    place = room.prepare("A")
    room.end(place, COMMIT)
    room.index.forget_decided_before(room.clock.wall_ms() + 1)
    settled = room.ending.end([an_end(place, COMMIT)] * (FORGOTTEN_COUNT_MAX + 2))
    codes = [answer.code for answer in settled]
    assert codes == [ResponseCode.SUCCESS] * FORGOTTEN_COUNT_MAX + [ResponseCode.SYSTEM_BUSY] * 2
    assert room.end(place, COMMIT).code == ResponseCode.SUCCESS


def test_a_contradiction_that_could_not_be_written_down_is_the_next_time(
    room: RoomDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = room.prepare("A")
    room.end(place, ROLLBACK)
    with monkeypatch.context() as failing:

        def fail(*_: object, **__: object) -> None:
            raise OSError("a fault of ours")

        failing.setattr(room.log, "append", fail)
        with pytest.raises(OSError, match="a fault of ours"):
            room.end(place, COMMIT)
    room.ending.end([an_end(place, COMMIT), an_end(place, COMMIT)])
    room.settle()
    assert len(list(room.store.iterate(AUDIT_TOPIC, 0))) == 1
