"""Requests of transactions: prepares, decisions, and discarded ones that get another chance."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.broker.desk import Desk, TestRequest
from tests.unit.transaction.room_desk import INTERVAL_MS, RoomDesk

from escrowmq.broker import processors
from escrowmq.broker.outcome import Outcome, WhenDurable
from escrowmq.broker_config import BrokerConfig
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.transaction.topics import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC

SEND, END, RESUME = 310, 37, 323
COMMIT, ROLLBACK, UNKNOWN = "8", "12", "0"
PAIRS = {"TRAN_MSG": "true", "PGROUP": "shop", "UNIQ_KEY": "7F01", "TAGS": "paid"}


@pytest.fixture
def room(tmp_path: Path) -> Iterator[RoomDesk]:
    opened = RoomDesk(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def desk(room: RoomDesk) -> Desk:
    return Desk(room=room)


def prepare(topic: str = "orders", **pairs: str) -> dict[str, str]:
    text = "".join(f"{name}\x01{value}\x02" for name, value in {**PAIRS, **pairs}.items())
    fields = {"a": "shop", "b": topic, "c": "TBW102", "d": "4", "e": "2", "f": "4", "g": "12", "h": "9", "i": text}
    return {**fields, "j": "0", "k": "false", "m": "false"}


def end(answer: Answer, decision: str, **more: str) -> dict[str, str]:
    return {
        "producerGroup": "shop",
        "tranStateTableOffset": answer.ext_fields["queueOffset"],
        "commitLogOffset": str(int(answer.ext_fields["msgId"][-16:], 16)),
        "commitOrRollback": decision,
        "msgId": "7F01",
        "transactionId": "7F01",
        "fromTransactionCheck": "false",
        **more,
    }


def durable(desk: Desk, room: RoomDesk, code: int, fields: dict[str, str], body: bytes = b"body") -> Answer:
    """The answer to a request, which waits until all that is appended is durable."""
    outcome = desk.outcome(code, fields, body)
    assert isinstance(outcome, WhenDurable), outcome
    assert outcome.end_offset == room.store.log_end
    room.settle()
    return outcome.answer


def answer_of(outcome: Outcome) -> Answer:
    return outcome.answer if isinstance(outcome, WhenDurable) else _only_answer(outcome)


def _only_answer(outcome: Outcome) -> Answer:
    assert isinstance(outcome, Answer)
    return outcome


def test_a_prepare_is_a_half_message_and_answered_as_apache_answers(desk: Desk, room: RoomDesk) -> None:
    answer = durable(desk, room, SEND, prepare())
    (half,) = room.store.read(HALF_TOPIC, 0, 0)
    assert answer.ext_fields == {
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
        "msgId": f"7F00000100002A9F{half.log_offset:016X}",
        "queueId": "2",
        "queueOffset": "0",
        "transactionId": "7F01",
    }
    assert half.properties == {
        **PAIRS,
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
        "CLUSTER": "DefaultCluster",
        "__transactionId__": "7F01",
        "REAL_TOPIC": "orders",
        "REAL_QID": "2",
    }
    # In its queue, though nobody may read it: a half message is prepared by its topic and not by its flag.
    assert (half.sys_flag & 0xC, half.flag, bytes(half.body)) == (0, 9, b"body")
    assert room.counters.prepared == {"orders": 1}


def test_a_batch_of_prepares_is_one_append(desk: Desk, room: RoomDesk) -> None:
    requests = [TestRequest(SEND, prepare(UNIQ_KEY=f"7F0{number}"), b"body") for number in range(5)]
    outcomes = list(processors.process(desk.context, requests))
    assert room.log.batch_sizes == [5]
    assert [answer_of(outcome).ext_fields["queueOffset"] for _, outcome in outcomes] == list("01234")


def test_a_prepare_that_is_sent_again_is_the_same_transaction(desk: Desk, room: RoomDesk) -> None:
    first = durable(desk, room, SEND, prepare())
    assert durable(desk, room, SEND, prepare()) == first
    assert room.pending() == ["7F01"]
    # A different body under the same id is another one.
    assert durable(desk, room, SEND, prepare(), b"other") != first
    assert room.pending() == ["7F01", "7F01"]


def test_a_prepare_that_is_in_a_batch_twice_is_one_transaction(desk: Desk, room: RoomDesk) -> None:
    requests = [TestRequest(SEND, prepare(), b"body") for _ in range(2)]
    (_, first), (_, second) = processors.process(desk.context, requests)
    assert answer_of(first) == answer_of(second)
    assert isinstance(second, WhenDurable)
    assert second.end_offset == room.store.log_end
    assert room.pending() == ["7F01"]
    assert not room.room.planned


@pytest.mark.parametrize("note", ["short", "x" * 9_000])
def test_of_two_messages_with_one_id_in_a_batch_none_is_lost(desk: Desk, room: RoomDesk, note: str) -> None:
    """Those with long properties are looked at more closely."""
    requests = [TestRequest(SEND, prepare(note=note), body) for body in (b"one", b"two", b"two")]
    first, second, again = [answer_of(outcome) for _, outcome in processors.process(desk.context, requests)]
    room.settle()
    assert [bytes(record.body) for record in room.store.read(HALF_TOPIC, 0, 0)] == [b"one", b"two"]
    assert [first.ext_fields["queueOffset"], second.ext_fields["queueOffset"]] == ["0", "1"]
    assert again == second


def test_a_prepare_whose_append_failed_is_taken_when_it_is_sent_again(
    desk: Desk, room: RoomDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as failing:

        def fail(_: object) -> None:
            raise OSError("a fault of ours")

        failing.setattr(room.log, "append", fail)
        assert desk.ask(SEND, prepare(), b"body").code == ResponseCode.SYSTEM_ERROR
    assert durable(desk, room, SEND, prepare()).ext_fields["queueOffset"] == "0"


def test_a_prepare_that_was_decided_or_asked_about_is_not_the_same_any_more(desk: Desk, room: RoomDesk) -> None:
    first = durable(desk, room, SEND, prepare())
    durable(desk, room, END, end(first, ROLLBACK))
    second = durable(desk, room, SEND, prepare())
    assert second.ext_fields["queueOffset"] == "1"
    room.connect()
    room.round()
    room.settle()
    third = durable(desk, room, SEND, prepare())
    assert third.ext_fields["queueOffset"] == "3"


@pytest.mark.parametrize(
    ("pairs", "code"),
    [
        ({"PGROUP": " "}, ResponseCode.MESSAGE_ILLEGAL),
        ({"DELAY": "3"}, ResponseCode.MESSAGE_ILLEGAL),
        ({"TIMER_DELAY_SEC": "3"}, ResponseCode.MESSAGE_ILLEGAL),
        ({"note": "x" * 32_600}, ResponseCode.MESSAGE_ILLEGAL),
    ],
)
def test_a_prepare_that_could_not_be_decided_is_refused(
    desk: Desk, room: RoomDesk, pairs: dict[str, str], code: ResponseCode
) -> None:
    answer = desk.ask(SEND, prepare(**pairs), b"body")
    assert answer.code == code
    assert answer.ext_fields["MSG_REGION"] == "DefaultRegion"
    assert room.store.log_end == 0


def test_a_prepare_to_a_topic_that_must_not_be_written_is_refused(desk: Desk, room: RoomDesk) -> None:
    desk.context.topics.update([TopicConfig("orders", 4, 4, 4)])
    assert desk.ask(SEND, prepare(), b"body").code == ResponseCode.NO_PERMISSION
    assert desk.ask(SEND, prepare(topic=HALF_TOPIC), b"body").code == ResponseCode.NO_PERMISSION
    assert room.store.log_end == 0


def test_a_prepare_to_a_topic_that_is_not_there_is_refused(room: RoomDesk) -> None:
    desk = Desk(room=room, has_auto_create=False)
    answer = desk.ask(SEND, prepare(topic="nowhere"), b"body")
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert str(answer.remark).startswith("topic[nowhere] not exist, apply first please!")
    assert room.store.log_end == 0


def test_a_broker_may_take_no_transactions(room: RoomDesk) -> None:
    desk = Desk(room=room, config=BrokerConfig(advertise="127.0.0.1", takes_transactions=False))
    answer = desk.ask(SEND, prepare(), b"body")
    assert (answer.code, answer.remark) == (
        ResponseCode.NO_PERMISSION,
        "the broker[127.0.0.1] sending transaction message is forbidden",
    )


def test_a_send_can_not_pass_for_a_committed_one(desk: Desk, room: RoomDesk) -> None:
    durable(desk, room, SEND, {**prepare(TRAN_MSG="false", DELAY="1"), "f": "8"})
    (waiting,) = room.store.read("SCHEDULE_TOPIC_XXXX", 0, 0)
    assert waiting.sys_flag & 0xC == 0


@pytest.mark.parametrize(("decision", "delivered"), [(COMMIT, 1), (ROLLBACK, 0)])
def test_a_decision_is_answered_when_it_is_durable(desk: Desk, room: RoomDesk, decision: str, delivered: int) -> None:
    prepared = durable(desk, room, SEND, prepare())
    assert durable(desk, room, END, end(prepared, decision)) == Answer()
    queue = room.store.queue("orders", 2)
    assert (0 if queue is None else queue.max_offset) == delivered
    # The same again waits for the same.
    assert durable(desk, room, END, end(prepared, decision)) == Answer()


def test_a_producer_that_does_not_know_is_answered_at_once(desk: Desk, room: RoomDesk) -> None:
    prepared = durable(desk, room, SEND, prepare())
    assert desk.ask(END, end(prepared, UNKNOWN)) == Answer()
    assert room.pending() == ["7F01"]


def test_one_bad_end_of_a_batch_costs_no_other(desk: Desk, room: RoomDesk) -> None:
    prepared = durable(desk, room, SEND, prepare())
    good = end(prepared, COMMIT)
    requests = [
        TestRequest(END, {**good, "tranStateTableOffset": "many"}),
        TestRequest(END, {**good, "producerGroup": "another"}),
        TestRequest(END, {}),
        TestRequest(END, good),
        TestRequest(END, end(prepared, ROLLBACK)),
    ]
    answers = [answer_of(outcome) for _, outcome in processors.process(desk.context, requests)]
    assert [answer.code for answer in answers] == [
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SUCCESS,
        ResponseCode.ILLEGAL_OPERATION,
    ]
    room.settle()
    (op,) = room.store.read(OP_TOPIC, 0, 0)
    assert op.find_property("ESCROWMQ_DECIDED") == "C0@127.0.0.1:40000"


def test_who_answered_a_question_is_written_down(desk: Desk, room: RoomDesk) -> None:
    prepared = durable(desk, room, SEND, prepare())
    durable(desk, room, END, end(prepared, COMMIT, fromTransactionCheck="true"))
    (op,) = room.store.read(OP_TOPIC, 0, 0)
    assert op.find_property("ESCROWMQ_DECIDED") == "C0@check 127.0.0.1:40000"
    assert room.counters.checks_answered == 1


def test_a_discarded_one_gets_another_chance_once(desk: Desk, room: RoomDesk) -> None:
    durable(desk, room, SEND, prepare())
    room.connect()
    for _ in range(4):
        room.round()
    (discarded,) = room.store.read(DISCARD_TOPIC, 0, 0)
    asked = {"topic": DISCARD_TOPIC, "msgId": discarded.offset_message_id}
    assert durable(desk, room, RESUME, asked) == Answer()
    assert durable(desk, room, RESUME, asked) == Answer()
    (resumed,) = room.index.pending()
    assert (resumed.unique_id, resumed.checks) == ("7F01", 0)
    room.clock.advance(INTERVAL_MS)
    (question,) = room.round()
    assert question.unique_id == "7F01"


@pytest.mark.parametrize("message_id", ["", "7F01", "7F00000100002A9F00000000000000FF"])
def test_what_was_not_discarded_can_not_be_resumed(desk: Desk, room: RoomDesk, message_id: str) -> None:
    durable(desk, room, SEND, prepare())
    assert desk.ask(RESUME, {"msgId": message_id}).code == ResponseCode.SYSTEM_ERROR
    assert room.pending() == ["7F01"]
