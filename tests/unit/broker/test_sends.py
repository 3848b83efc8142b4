"""Sends that are more than an append: later, again, or never."""

import pytest
from tests.unit.broker.desk import Desk, TestRequest, heartbeat, send

from escrowmq.broker import processors
from escrowmq.broker import topics as topics_module
from escrowmq.broker.outcome import RETRY, WhenDurable
from escrowmq.broker_config import BrokerConfig
from escrowmq.model.message_queue import MessageQueue
from escrowmq.model.subscription import SubscriptionGroup
from escrowmq.protocol.response_codes import ResponseCode

SEND, BATCH = 310, 320
RETRY_TOPIC, DEAD_LETTERS = "%RETRY%billing", "%DLQ%billing"
STAMPED = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


def delayed(level: int | str, **more: str) -> dict[str, str]:
    return send("orders", i=f"TAGS\x01a\x02DELAY\x01{level}\x02UNIQ_KEY\x017F\x02", **more)


def test_a_message_for_later_waits_in_the_queue_of_its_level_and_its_sender_sees_the_queue_it_asked_for() -> None:
    desk = Desk()
    answer = desk.stored(SEND, delayed(3, e="2", h="9"), b"hello")
    assert answer.code == ResponseCode.SUCCESS
    assert answer.ext_fields == {
        **STAMPED,
        "msgId": "7F00000100002A9F0000000000000000",
        "queueId": "2",
        "queueOffset": "0",
        "transactionId": "7F",
    }
    (message,) = desk.store.appended
    assert (message.topic, message.queue_id, message.body, message.flag) == ("SCHEDULE_TOPIC_XXXX", 2, b"hello", 9)
    assert (message.born_timestamp_ms, message.born_host) == (1794984736583, "127.0.0.1:40000")
    assert message.properties == {
        "TAGS": "a",
        "DELAY": "3",
        "UNIQ_KEY": "7F",
        **STAMPED,
        "CLUSTER": "DefaultCluster",
        "REAL_TOPIC": "orders",
        "REAL_QID": "2",
    }
    assert desk.delayed.noticed == [(3, 5)]
    topic = desk.context.topics.find("orders")
    assert topic is not None
    assert topic.write_queues == 4


@pytest.mark.parametrize(("asked", "level"), [("1", 1), ("18", 18), ("19", 18), ("2147483647", 18)])
def test_a_level_beyond_the_last_counts_as_the_last(asked: str, level: int) -> None:
    desk = Desk()
    desk.stored(SEND, delayed(asked))
    (message,) = desk.store.appended
    assert (message.queue_id, message.properties["DELAY"]) == (level - 1, str(level))
    assert desk.delayed.noticed == [(level, 4)]


@pytest.mark.parametrize("level", ["-1", "-9"])
def test_a_level_below_zero_is_none(level: str) -> None:
    desk = Desk()
    desk.stored(SEND, delayed(level))
    (message,) = desk.store.appended
    assert (message.topic, message.queue_id, desk.delayed.noticed) == ("orders", 0, [])


def test_a_level_that_is_no_number_is_refused() -> None:
    answer = Desk().ask(SEND, delayed("soon"), b"body")
    assert (answer.code, answer.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "the delay level is 'soon', which is no number",
    )


def test_a_level_beats_a_timer() -> None:
    desk = Desk()
    desk.stored(SEND, send("orders", i="DELAY\x011\x02TIMER_DELAY_SEC\x019\x02TIMER_DELIVER_MS\x019\x02"))
    (message,) = desk.store.appended
    assert message.topic == "SCHEDULE_TOPIC_XXXX"
    assert not {"TIMER_DELAY_SEC", "TIMER_DELIVER_MS"} & message.properties.keys()


def test_sends_of_one_batch_are_one_append() -> None:
    desk = Desk()
    requests = [TestRequest(SEND, delayed(level), b"body") for level in (1, 1, 2)]
    outcomes = [outcome for _, outcome in processors.process(desk.context, requests)]
    assert [len(batch) for batch in desk.store.batches] == [3]
    assert [outcome.end_offset for outcome in outcomes if isinstance(outcome, WhenDurable)] == [4, 8, 12]
    offsets = [outcome.answer.ext_fields["queueOffset"] for outcome in outcomes if isinstance(outcome, WhenDurable)]
    assert offsets == ["0", "1", "0"]


def test_a_message_without_an_id_gets_one_and_keeps_nothing_that_only_the_broker_writes() -> None:
    desk = Desk()
    ids = set()
    for _ in range(3):
        answer = desk.stored(SEND, send("orders", i="DELAY\x011\x02CLUSTER\x01mine\x02POP_CK\x010 1\x02"))
        ids.add(answer.ext_fields["transactionId"])
    assert {len(unique_id) for unique_id in ids} == {32}
    assert ids == {message.properties["UNIQ_KEY"] for message in desk.store.appended}
    assert len(ids) == 3
    assert all(message.properties["CLUSTER"] == "DefaultCluster" for message in desk.store.appended)
    assert not any("POP_CK" in message.properties for message in desk.store.appended)


def test_what_is_wrong_with_a_message_is_said_as_the_fast_lane_says_it() -> None:
    desk = Desk()
    beyond = desk.ask(SEND, delayed(1, e="4"), b"body")
    assert beyond.code == ResponseCode.INVALID_PARAMETER
    assert beyond.remark == ("request queueId[4] is illegal, topic orders has 4 queues, Producer: 127.0.0.1:40000")
    assert beyond.ext_fields == STAMPED
    assert desk.ask(SEND, delayed(1), b"").code == ResponseCode.MESSAGE_ILLEGAL
    refused = desk.ask(SEND, delayed(1), b"bad")
    assert (refused.code, refused.remark) == (ResponseCode.MESSAGE_ILLEGAL, "the message is illegal: a bad body")
    assert refused.ext_fields == STAMPED
    assert desk.delayed.noticed == []


def test_where_no_queue_is_named_any_will_do() -> None:
    desk = Desk()
    queues = {desk.stored(SEND, delayed(1, e="-1")).ext_fields["queueId"] for _ in range(100)}
    assert queues == {"0", "1", "2", "3"}


def test_a_message_of_a_transaction_that_is_tried_again_is_no_part_of_one() -> None:
    desk = Desk()
    desk.stored(SEND, send(RETRY_TOPIC, i="TRAN_MSG\x01true\x02DELAY\x013\x02", j="1"))
    assert desk.store.appended[0].topic == "SCHEDULE_TOPIC_XXXX"


def test_a_batch_is_not_tried_again() -> None:
    desk = Desk()
    assert desk.outcome(BATCH, send("orders")) == RETRY
    for answer in (desk.ask(BATCH, send(RETRY_TOPIC)), desk.ask(SEND, send(RETRY_TOPIC, m="true"))):
        assert answer.code == ResponseCode.MESSAGE_ILLEGAL
        assert answer.remark == f"batch request does not support retry group {RETRY_TOPIC}"


def retried(times: int, **more: str) -> dict[str, str]:
    return send(RETRY_TOPIC, i="DELAY\x014\x02UNIQ_KEY\x017F\x02", j=str(times), **more)


def test_a_message_that_a_consumer_sends_to_its_retry_topic_waits_there() -> None:
    desk = Desk()
    answer = desk.stored(SEND, retried(16))
    (message,) = desk.store.appended
    assert (message.topic, message.queue_id, message.reconsume_times) == ("SCHEDULE_TOPIC_XXXX", 3, 16)
    assert message.properties["REAL_TOPIC"] == RETRY_TOPIC
    assert answer.ext_fields["queueId"] == "0"
    assert desk.context.groups.find("billing") is not None


@pytest.mark.parametrize(
    ("times", "asked", "version", "is_dead"),
    [
        (16, {}, 513, False),
        (17, {}, 513, True),
        (3, {"l": "3"}, 513, False),
        (4, {"l": "3"}, 513, True),
        # A client before 3.4.9 has no say in it.
        (4, {"l": "3"}, 120, False),
        (4, {"l": "3"}, 121, True),
        (20, {"l": "99"}, 513, False),
    ],
)
def test_a_message_that_was_tried_too_often_is_a_dead_letter(
    times: int, asked: dict[str, str], version: int, *, is_dead: bool
) -> None:
    desk = Desk()
    answer = desk.stored(SEND, retried(times, **asked), version=version)
    (message,) = desk.store.appended
    assert (message.topic == DEAD_LETTERS) == is_dead
    if is_dead:
        assert (message.queue_id, message.properties["DELAY"]) == (0, "-1")
        assert desk.delayed.noticed == []
        topic = desk.context.topics.find(DEAD_LETTERS)
        assert topic is not None
        assert (topic.read_queues, topic.write_queues, topic.permissions) == (1, 1, 6)
        assert (answer.ext_fields["queueId"], answer.ext_fields["queueOffset"]) == ("0", "0")


def test_what_a_group_sends_while_it_consumes_in_order_is_a_dead_letter() -> None:
    desk = Desk()
    desk.context.locks.lock("billing", [MessageQueue("broker-a", 0, "orders")], "client", now_ms=desk.now_ms)
    desk.stored(SEND, retried(0))
    desk.now_ms += 60_001
    desk.stored(SEND, retried(0))
    assert [message.topic for message in desk.store.appended] == [DEAD_LETTERS, "SCHEDULE_TOPIC_XXXX"]


def test_a_retry_topic_is_made_even_where_no_other_is_but_not_for_a_group_that_is_none() -> None:
    desk = Desk(has_auto_create=False)
    answer = desk.ask(SEND, retried(0, k="true"), b"body")
    assert answer.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert answer.remark == (
        "subscription group not exist, billing \nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ "
        "for further details."
    )
    assert desk.context.topics.find(RETRY_TOPIC) is None
    desk.context.groups.update([SubscriptionGroup(name="billing")])
    desk.stored(SEND, retried(0, k="true"))
    topic = desk.context.topics.find(RETRY_TOPIC)
    assert topic is not None
    assert (topic.write_queues, topic.system_flag) == (1, 2)


def test_a_retry_topic_counts_as_one_that_a_client_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()
    monkeypatch.setattr(topics_module, "TOPICS_MAX", len(desk.context.topics.table))
    assert desk.ask(SEND, retried(0), b"body").code == ResponseCode.TOPIC_NOT_EXIST
    desk.ask(34, body=heartbeat())
    assert desk.context.topics.find(RETRY_TOPIC) is None


def test_a_broker_that_is_closed_to_sends_refuses_those_to_ordered_topics() -> None:
    desk = Desk(config=BrokerConfig(advertise="127.0.0.1", permission=4))
    desk.stored(SEND, delayed(1))
    desk.context.topics.mark_ordered(["orders"])
    answer = desk.ask(SEND, delayed(1), b"body")
    assert (answer.code, answer.remark) == (
        ResponseCode.NO_PERMISSION,
        "the broker[127.0.0.1] sending message is forbidden",
    )
