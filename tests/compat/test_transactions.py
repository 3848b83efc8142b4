"""Transactions by the wire, against a broker that runs."""

import contextlib
from collections.abc import Iterator

import pytest
from tests.compat.transacting import COMMIT, ROLLBACK, UNKNOWN, TransactionPeer

from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.testing import LocalBroker
from escrowmq.transaction.topics import HALF_TOPIC, PROGRESS_GROUP

CHECK_S = 31


@pytest.fixture
def broker() -> Iterator[LocalBroker]:
    with LocalBroker() as opened:
        opened.create_topic("orders", queues=1)
        yield opened


def bodies(broker: LocalBroker, count: int = 0) -> list[bytes]:
    return [message.body for message in broker.messages("orders", count=count)]


@pytest.mark.parametrize("flush", ["sync", "async"])
def test_a_message_is_in_its_queue_when_its_transaction_is_committed_and_not_before(flush: str) -> None:
    with (
        LocalBroker(flush="sync" if flush == "sync" else "async") as broker,
        TransactionPeer(broker.address) as producer,
    ):
        committed = producer.prepare("A", body=b"committed")
        rolled_back = producer.prepare("B", body=b"rolled back")
        assert (committed.code, rolled_back.code) == (ResponseCode.SUCCESS, ResponseCode.SUCCESS)
        assert bodies(broker) == []
        assert producer.end(rolled_back, ROLLBACK).code == ResponseCode.SUCCESS
        assert producer.end(committed, COMMIT).code == ResponseCode.SUCCESS
        assert bodies(broker, count=1) == [b"committed"]


def test_a_decision_may_follow_its_prepare_at_once() -> None:
    """In async mode a prepare is answered before its half message is in its queue, and can be decided already."""
    with LocalBroker(flush="async") as broker, TransactionPeer(broker.address) as producer:
        broker.create_topic("orders", queues=1)
        for number in range(20):
            assert producer.end(producer.prepare(f"T{number}"), COMMIT).code == ResponseCode.SUCCESS
        assert len(broker.messages("orders", count=20)) == 20


def test_its_producer_is_asked_about_an_undecided_one_and_its_answer_decides(broker: LocalBroker) -> None:
    with TransactionPeer(broker.address) as producer:
        producer.heartbeat()
        for name in "AB":
            assert producer.end(producer.prepare(name, body=name.encode()), UNKNOWN).code == ResponseCode.SUCCESS
        broker.clock.advance(seconds=CHECK_S)
        questions = {
            question.ext_fields["transactionId"]: question for question in (producer.question(), producer.question())
        }
        producer.reply(questions["A"], COMMIT)
        producer.reply(questions["B"], ROLLBACK)
        assert bodies(broker, count=1) == [b"A"]
        producer.heartbeat()
        broker.clock.advance(seconds=CHECK_S)
        producer.heartbeat()
        assert producer.questions == []


def test_a_producer_that_comes_back_is_asked(broker: LocalBroker) -> None:
    with TransactionPeer(broker.address) as first:
        first.heartbeat()
        first.prepare("A")
    broker.clock.advance(seconds=CHECK_S)
    with TransactionPeer(broker.address) as second:
        second.heartbeat()
        broker.clock.advance(seconds=CHECK_S)
        second.reply(second.question(), COMMIT)
        assert bodies(broker, count=1) == [b"body"]


@pytest.mark.parametrize(("decision", "expected"), [(COMMIT, [b"body"]), (ROLLBACK, [])])
def test_a_decision_outlives_the_broker(broker: LocalBroker, decision: str, expected: list[bytes]) -> None:
    with TransactionPeer(broker.address) as producer:
        prepared = producer.prepare("A")
        assert producer.end(prepared, decision).code == ResponseCode.SUCCESS
    broker.kill()
    broker.reopen()
    with TransactionPeer(broker.address) as producer:
        assert producer.end(prepared, decision).code == ResponseCode.SUCCESS
        other = ROLLBACK if decision == COMMIT else COMMIT
        assert producer.end(prepared, other).code == ResponseCode.ILLEGAL_OPERATION
    assert bodies(broker) == expected


def test_a_pending_one_outlives_the_broker_and_is_asked_about(broker: LocalBroker) -> None:
    with TransactionPeer(broker.address) as producer:
        prepared = producer.prepare("A")
    broker.kill()
    broker.reopen()
    with TransactionPeer(broker.address) as producer:
        producer.heartbeat()
        broker.clock.advance(seconds=CHECK_S)
        question = producer.question()
        assert question.ext_fields["transactionId"] == "A"
        # The producer itself decides meanwhile; the answer to the question comes too late.
        assert producer.end(prepared, ROLLBACK).code == ResponseCode.SUCCESS
        producer.reply(question, COMMIT)
        producer.heartbeat()
    assert bodies(broker) == []


def test_a_lost_answer_to_a_prepare_does_not_make_two_transactions(broker: LocalBroker) -> None:
    broker.drop_next_answer(310)
    with TransactionPeer(broker.address) as producer, contextlib.suppress(TimeoutError):
        producer.peer.socket.settimeout(0.5)
        producer.prepare("A")
    with TransactionPeer(broker.address) as producer:
        again = producer.prepare("A")
        assert again.ext_fields["queueOffset"] == "0"
        assert producer.end(again, COMMIT).code == ResponseCode.SUCCESS
    assert bodies(broker) == [b"body"]


def test_it_is_given_up_after_the_last_question_and_found_in_the_discard_topic() -> None:
    with LocalBroker(settings={"transactionCheckMax": 2}) as broker, TransactionPeer(broker.address) as producer:
        producer.prepare("A")
        for _ in range(2):
            producer.heartbeat()
            broker.clock.advance(seconds=CHECK_S)
            producer.reply(producer.question(), UNKNOWN)
        producer.heartbeat()
        broker.clock.advance(seconds=CHECK_S)
        (discarded,) = broker.messages("TRANS_CHECK_MAX_TIME_TOPIC", count=1)
        assert discarded.properties["UNIQ_KEY"] == "A"
        assert bodies(broker) == []


def test_a_broker_without_transactions_notes_no_progress(broker: LocalBroker) -> None:
    for _ in range(3):
        broker.clock.advance(seconds=CHECK_S)
    with TransactionPeer(broker.address) as client:
        fields = {"topic": "RMQ_SYS_TRANS_HALF_TOPIC"}
        answer = client.ask(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, fields)
    assert b"CID_RMQ_SYS_TRANS" not in bytes(answer.body)


def test_how_far_they_are_is_written_down_when_it_changes_and_not_again(broker: LocalBroker) -> None:
    offsets = broker.data / "config" / "consumerOffset.json"
    with TransactionPeer(broker.address) as producer:
        assert producer.end(producer.prepare("A"), COMMIT).code == ResponseCode.SUCCESS
    for _ in range(3):
        broker.clock.advance(seconds=CHECK_S)
    written = offsets.read_text()
    assert '"RMQ_SYS_TRANS_HALF_TOPIC@CID_RMQ_SYS_TRANS":{0:1}' in written.replace('"0"', "0").replace(" ", "")
    modified_ns = offsets.stat().st_mtime_ns
    for _ in range(3):
        broker.clock.advance(seconds=CHECK_S)
    assert offsets.stat().st_mtime_ns == modified_ns


def test_a_half_message_stays_in_the_log_from_the_moment_of_its_append() -> None:
    """A disk that is too full has old segments go at any time, also between two looks at what is pending."""
    settings = {"store.disk_force_ratio": 0.0001, "store.segment_size_bytes": 2 << 20}
    with LocalBroker(settings=settings, flush="async") as broker, TransactionPeer(broker.address) as producer:
        broker.create_topic("orders", queues=1)
        broker.clock.advance(seconds=1)
        prepared = producer.prepare("A")
        for _ in range(4):
            broker.send("orders", b"x" * 1_000_000)
        store = broker._servers.broker.store
        store.flush()
        store.expire()
        assert producer.end(prepared, COMMIT).code == ResponseCode.SUCCESS


def test_no_peer_closes_transactions_by_an_offset_that_it_commits(broker: LocalBroker) -> None:
    """How far they are stands among the offsets of consumers, and what lies before that is closed at a start."""
    hostile = {"consumerGroup": PROGRESS_GROUP, "topic": HALF_TOPIC, "queueId": "0", "commitOffset": "1000000"}
    with TransactionPeer(broker.address) as producer:
        prepared = producer.prepare("A")
        for _ in range(80):
            producer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, hostile)
            broker.clock.advance(seconds=0.1)
    broker.kill()
    broker.reopen()
    with TransactionPeer(broker.address) as producer:
        assert producer.end(prepared, COMMIT).code == ResponseCode.SUCCESS
    assert bodies(broker) == [b"body"]
