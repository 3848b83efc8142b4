"""Requests that go on to a consumer, and what becomes of its reply."""

import json

from tests.unit.broker.desk import Desk, TestRecord, TestStore, heartbeat
from tests.unit.broker.test_consumption import queue, value

from escrowmq.broker.outcome import Forward, Reply, Silence
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode

HEART_BEAT, STATUS, RUNNING_INFO, CONSUME = 34, 223, 307, 309
ONE = {"consumerGroup": "billing", "clientId": "one"}
RECORD_ID = "7F00000100002A9F0000000000000007"


def make() -> Desk:
    store = TestStore()
    store.records[7] = TestRecord(bytes=b"record")
    desk = Desk(store=store)
    for connection, client_id in enumerate(("one", "two")):
        desk.ask(HEART_BEAT, body=heartbeat(client_id), connection=connection)
    return desk


def forward(desk: Desk, code: int, fields: dict[str, str]) -> Forward:
    outcome = desk.outcome(code, fields)
    assert isinstance(outcome, Forward)
    return outcome


def finish(forward: Forward, *replies: Reply) -> Answer:
    answer = forward.finish(replies)
    assert isinstance(answer, Answer)
    return answer


def test_a_consumer_is_asked_what_the_operator_asks_and_its_reply_is_passed_back() -> None:
    asked = forward(make(), RUNNING_INFO, {**ONE, "jstackEnable": "true"})
    (question,) = asked.questions
    assert (question.connection, question.code) == (0, RUNNING_INFO)
    assert question.ext_fields == {**ONE, "jstackEnable": "true"}
    reply = Answer(7, "said so", {"a": "b"}, b"body")
    assert finish(asked, reply) == reply


def test_silence_is_said_to_be_silence() -> None:
    asked = forward(make(), RUNNING_INFO, ONE)
    late, gone = finish(asked, Silence.LATE), finish(asked, Silence.GONE)
    assert (late.code, late.remark) == (
        ResponseCode.CONSUME_MSG_TIMEOUT,
        "consumer <billing> <one> Timeout: no reply within 10000 ms",
    )
    assert gone.code == ResponseCode.SYSTEM_ERROR
    assert "invoke consumer <billing> <one> Exception" in str(gone.remark)


def test_a_consumer_that_is_not_there_is_not_asked() -> None:
    for fields in ({**ONE, "clientId": "three"}, {**ONE, "consumerGroup": "none"}):
        answer = make().ask(RUNNING_INFO, fields)
        who = f"<{fields['consumerGroup']}> <{fields['clientId']}>"
        assert (answer.code, answer.remark) == (1, f"The Consumer {who} not online")


def test_a_message_goes_to_the_consumer_that_is_to_consume_it() -> None:
    desk = make()
    (question,) = forward(desk, CONSUME, {**ONE, "msgId": RECORD_ID, "topic": "TBW102"}).questions
    assert question.body == b"record"
    assert question.ext_fields == {
        **ONE,
        "msgId": RECORD_ID,
        "topic": "TBW102",
        "brokerName": "broker-a",
        "topicSysFlag": "0",
        "groupSysFlag": "0",
    }


def test_a_message_that_is_not_there_goes_nowhere() -> None:
    desk = make()
    for message_id in ("", "00", "x" * 32, RECORD_ID[:-1] + "8", "f" * 32):
        answer = desk.ask(CONSUME, {**ONE, "msgId": message_id})
        assert (answer.code, answer.remark) == (1, f"can not find message by the id, {message_id}")


def status(offsets: dict[str, int]) -> Answer:
    table = ",".join(f"{key}:{offset}" for key, offset in offsets.items())
    return Answer(body=b'{"consumerTable":{},"messageQueueTable":{%s}}' % table.encode())


def test_what_all_consumers_have_read_is_gathered() -> None:
    asked = forward(make(), STATUS, {"topic": "orders", "group": "billing"})
    assert [(question.connection, question.code) for question in asked.questions] == [(0, 221), (1, 221)]
    answer = finish(asked, status({queue(0): 5}), status({queue(1): 6}))
    assert value(answer.body) == {
        "consumerTable": {"one": {queue(0): 5}, "two": {queue(1): 6}},
        "messageQueueTable": {},
    }


def test_of_a_consumer_that_says_nothing_or_nonsense_nothing_is_told() -> None:
    asked = forward(make(), STATUS, {"topic": "orders", "group": "billing"})
    for reply in (Answer(body=b"{{{"), Silence.LATE, Answer(1), Answer()):
        answer = json.loads(finish(asked, reply, reply).body)
        assert answer == {"consumerTable": {}, "messageQueueTable": {}}


def test_one_consumer_can_be_asked_alone() -> None:
    asked = forward(make(), STATUS, {"topic": "orders", "group": "billing", "clientAddr": "two"})
    assert [question.connection for question in asked.questions] == [1]
    answer = make().ask(STATUS, {"topic": "orders", "group": "none"})
    assert answer.remark == "No Any Consumer online in the consumer group: [none]"
