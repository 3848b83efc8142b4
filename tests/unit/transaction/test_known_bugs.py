"""What Apache RocketMQ's users suffered from, by the numbers of its issues: the same sequences with another end."""

import shutil

import pytest
from tests.unit.broker.desk import Desk
from tests.unit.transaction.room_desk import INTERVAL_MS, RoomDesk, places

from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.ruling import CheckRules
from escrowmq.transaction.topics import HALF_TOPIC, OP_TOPIC

COMMIT, ROLLBACK = Decision.COMMIT, Decision.ROLLBACK


def test_8158_a_commit_by_a_check_and_one_by_the_producer_deliver_once(room: RoomDesk) -> None:
    room.connect()
    root = room.prepare("A")
    (copy,) = places(room.round())
    assert room.end(copy, COMMIT).code == ResponseCode.SUCCESS
    assert room.end(root, COMMIT).code == ResponseCode.SUCCESS
    assert room.delivered() == ["A"]


def test_8158_a_commit_after_a_rollback_by_a_check_delivers_nothing(room: RoomDesk) -> None:
    room.connect()
    root = room.prepare("A")
    (copy,) = places(room.round())
    room.end(copy, ROLLBACK)
    assert room.end(root, COMMIT).code == ResponseCode.ILLEGAL_OPERATION
    assert room.delivered() == []


@pytest.mark.parametrize("decision", [COMMIT, ROLLBACK])
def test_8158_the_producers_late_decision_ends_the_questions(room: RoomDesk, decision: Decision) -> None:
    room.connect()
    root = room.prepare("A")
    room.round()
    room.end(root, decision)
    assert [room.round() for _ in range(3)] == [[], [], []]


def test_8158_a_commit_after_the_last_question_delivers_nothing(room: RoomDesk) -> None:
    room.connect()
    root = room.prepare("A")
    for _ in range(4):
        room.round()
    assert room.discarded() == ["A"]
    assert room.end(root, COMMIT).code == ResponseCode.ILLEGAL_OPERATION
    assert room.delivered() == []


def test_5574_the_same_commit_twice_delivers_once(room: RoomDesk) -> None:
    room.connect()
    room.prepare("A")
    (copy,) = places(room.round())
    assert [room.end(copy, COMMIT).code for _ in range(2)] == [ResponseCode.SUCCESS] * 2
    assert room.delivered() == ["A"]


def test_2694_what_a_check_rolled_back_the_listener_can_not_commit(room: RoomDesk) -> None:
    room.connect()
    root = room.prepare("A")
    (copy,) = places(room.round())
    room.end(copy, ROLLBACK)
    room.reopen()
    assert room.end(root, COMMIT).code == ResponseCode.ILLEGAL_OPERATION
    assert room.delivered() == []


@pytest.mark.parametrize("decision", [COMMIT, ROLLBACK])
def test_2117_after_a_restart_nothing_decided_is_asked_about(room: RoomDesk, decision: Decision) -> None:
    room.connect()
    room.end(room.prepare("A"), decision)
    room.reopen()
    assert [room.round() for _ in range(3)] == [[], [], []]


def test_8311_one_that_was_decided_before_its_last_question_is_not_given_up(room: RoomDesk) -> None:
    room.connect()
    root = room.prepare("A")
    for _ in range(3):
        room.round()
    room.end(root, COMMIT)
    room.round()
    assert (room.delivered(), room.discarded()) == (["A"], [])


def test_8311_time_of_immunity_spends_no_question(room: RoomDesk) -> None:
    room.rules = CheckRules(6_000, 15, 72 * 3_600_000)
    room.connect()
    room.prepare("A", CHECK_IMMUNITY_TIME_IN_SECONDS="600")
    assert [len(room.round()) for _ in range(19)] == [0] * 19
    assert [len(room.round()) for _ in range(16)] == [1] * 15 + [0]
    assert room.discarded() == ["A"]


def test_9640_one_that_was_committed_at_once_is_never_asked_about(room: RoomDesk) -> None:
    room.connect()
    for number in range(100):
        room.end(room.prepare(str(number)), COMMIT)
    room.prepare("pending")
    assert [asked.unique_id for asked in room.round()] == ["pending"]


def test_2133_decisions_do_not_hang_on_the_queue_of_op_records(room: RoomDesk) -> None:
    room.connect()
    room.end(room.prepare("A"), COMMIT)
    room.end(room.prepare("B"), ROLLBACK)
    room.store.abandon()
    shutil.rmtree(room.folder / "consumequeue" / OP_TOPIC)
    room.open()
    assert room.round() == []
    assert room.delivered() == ["A"]


@pytest.mark.parametrize("topic", [HALF_TOPIC, OP_TOPIC])
def test_2133_the_topics_of_transactions_can_not_be_deleted(topic: str) -> None:
    answer = Desk().ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic})
    assert answer.code != ResponseCode.SUCCESS


def test_544_one_whose_immunity_ends_in_this_very_millisecond_is_not_lost(room: RoomDesk) -> None:
    room.connect()
    room.prepare("A", CHECK_IMMUNITY_TIME_IN_SECONDS=str(INTERVAL_MS // 1_000))
    (transaction,) = room.index.pending()
    room.clock.advance(transaction.root_store_ms + INTERVAL_MS - room.clock.wall_ms())
    assert len(room.round(after_ms=INTERVAL_MS)) == 1
