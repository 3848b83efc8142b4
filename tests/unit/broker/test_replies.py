"""Replies of whoever was asked by a message: they reach the client that has asked, and are stored too."""

import json

import pytest
from tests.unit.broker.desk import Desk, send

from escrowmq.broker.outcome import Forward, Outcome, Reply, Silence, WhenDurable
from escrowmq.errors import DiskFull
from escrowmq.protocol import properties
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode

HEART_BEAT, UNREGISTER, SEND_REPLY, SEND_REPLY_V2, PUSH_REPLY = 34, 35, 324, 325, 326
TOPIC = "DefaultCluster_REPLY_TOPIC"
TO_ASKER = "REPLY_TO_CLIENT\x01asker\x02CORRELATION_ID\x01c1\x02"
LONG_FORM = {
    "producerGroup": "repliers",
    "topic": TOPIC,
    "defaultTopic": "TBW102",
    "defaultTopicQueueNums": "4",
    "queueId": "0",
    "sysFlag": "0",
    "bornTimestamp": "1794984736583",
    "flag": "0",
    "properties": TO_ASKER,
    "reconsumeTimes": "0",
    "unitMode": "false",
}


@pytest.fixture
def desk() -> Desk:
    """One with a producer `asker` on connection 5."""
    desk = Desk()
    body = {"clientID": "asker", "producerDataSet": [{"groupName": "askers"}], "consumerDataSet": []}
    assert desk.ask(HEART_BEAT, body=json.dumps(body).encode(), connection=5).code == ResponseCode.SUCCESS
    return desk


def reply(desk: Desk, pairs: str = TO_ASKER) -> Outcome:
    return desk.outcome(SEND_REPLY_V2, send(TOPIC, i=pairs), b"the reply", connection=6, peer="127.0.0.1:40001")


def finished(outcome: Outcome, said: Reply) -> Answer | WhenDurable:
    assert isinstance(outcome, Forward)
    return outcome.finish([said])


@pytest.mark.parametrize("code", [SEND_REPLY, SEND_REPLY_V2])
def test_a_reply_is_pushed_to_who_has_asked(desk: Desk, code: int) -> None:
    fields = LONG_FORM if code == SEND_REPLY else send(TOPIC, a="repliers", i=TO_ASKER, k="false")
    outcome = desk.outcome(code, fields, b"the reply", connection=6, peer="127.0.0.1:40001")
    assert isinstance(outcome, Forward)
    (question,) = outcome.questions
    assert (question.connection, question.code, question.body) == (5, PUSH_REPLY, b"the reply")
    pushed = dict(question.ext_fields)
    pairs = properties.decode(pushed.pop("properties"))
    assert (pairs["CORRELATION_ID"], pairs["PUSH_REPLY_TIME"]) == ("c1", "1000")
    assert "CLUSTER" not in pairs
    hosts = {"bornHost": "127.0.0.1:40001", "storeHost": "127.0.0.1:10911", "storeTimestamp": "1000"}
    assert pushed == {**{key: value for key, value in LONG_FORM.items() if key != "properties"}, **hosts}


def test_a_reply_that_has_arrived_is_stored_and_then_acknowledged(desk: Desk) -> None:
    outcome = finished(reply(desk), Answer())
    assert isinstance(outcome, WhenDurable)
    assert (outcome.answer.code, outcome.end_offset) == (ResponseCode.SUCCESS, desk.store.log_end)
    assert outcome.answer.ext_fields["queueOffset"] == "0"
    (stored,) = desk.store.appended
    assert (stored.topic, stored.body) == (TOPIC, b"the reply")


@pytest.mark.parametrize("said", [Silence.LATE, Silence.GONE, Answer(ResponseCode.SYSTEM_ERROR)])
def test_a_reply_that_has_not_arrived_is_stored_and_refused(desk: Desk, said: Reply) -> None:
    outcome = finished(reply(desk), said)
    assert isinstance(outcome, WhenDurable)
    assert (outcome.answer.code, outcome.answer.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "push reply message to askerfail.",
    )
    assert len(desk.store.appended) == 1


def test_a_reply_to_nobody_is_stored_and_refused(desk: Desk) -> None:
    fields = send(TOPIC, i="REPLY_TO_CLIENT\x01nobody\x02")
    answer = desk.stored(SEND_REPLY_V2, fields)
    assert (answer.code, answer.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "push reply message fail, channel of <nobody> not found.",
    )
    assert desk.stored(SEND_REPLY_V2, send(TOPIC)).code == ResponseCode.SYSTEM_ERROR


def test_a_reply_that_can_not_be_stored_has_arrived_all_the_same(desk: Desk) -> None:
    outcome = reply(desk)
    desk.store.failure = DiskFull("the disk is full")
    answer = finished(outcome, Answer())
    assert isinstance(answer, Answer)
    assert (answer.code, answer.ext_fields["msgId"]) == (ResponseCode.SUCCESS, "0")


def test_a_reply_to_a_topic_that_takes_no_messages_is_refused(desk: Desk) -> None:
    assert desk.ask(SEND_REPLY_V2, send("rmq_sys_x", i=TO_ASKER), b"x").code == ResponseCode.NO_PERMISSION


def test_who_has_asked_is_found_on_the_connection_that_it_came_back_on(desk: Desk) -> None:
    body = json.dumps({"clientID": "asker", "producerDataSet": [{"groupName": "askers"}], "consumerDataSet": []})
    desk.ask(HEART_BEAT, body=body.encode(), connection=7)
    desk.context.close_client(5)
    outcome = reply(desk)
    assert isinstance(outcome, Forward)
    assert outcome.questions[0].connection == 7
    desk.context.close_client(7)
    assert isinstance(reply(desk), WhenDurable)


@pytest.mark.parametrize("too_large", [{"g": str(2**63)}, {"h": str(2**31)}, {"j": str(-(2**31) - 1)}])
def test_a_number_that_no_record_holds_is_refused(desk: Desk, too_large: dict[str, str]) -> None:
    fields = {**send(TOPIC, i=TO_ASKER), **too_large}
    (letter,) = too_large
    answer = desk.ask(SEND_REPLY_V2, fields, b"the reply", connection=6)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert str(answer.remark).startswith(f"the custom field <{letter}> is ")
