"""CONSUMER_SEND_MSG_BACK: which messages come back, when, and which do not."""

import json

import pytest
from tests.unit.broker.desk import Desk, TestRecord, TestStore

from escrowmq.broker.outcome import WhenDurable
from escrowmq.broker_config import BrokerConfig
from escrowmq.errors import DiskFull
from escrowmq.model.subscription import SubscriptionGroup
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode

SEND_BACK, DELAY_OFFSETS = 36, 45
AT = 1_478
RECORD = TestRecord(
    topic="orders",
    body=b"hello",
    properties={"TAGS": "paid", "UNIQ_KEY": "7F", "WAIT": "true", "CLUSTER": "c"},
    flag=9,
    sys_flag=1,
    born_timestamp_ms=12,
    born_host="10.0.0.1:7",
    offset_message_id="7F000001000051AF00000000000005C6",
)


def desk_with(record: TestRecord = RECORD, *, permission: int = 6) -> Desk:
    store = TestStore()
    store.records[AT] = record
    store.records[0] = TestRecord(topic="another")
    return Desk(store=store, config=BrokerConfig(advertise="127.0.0.1", permission=permission))


def fields(level: int = 0, **more: str) -> dict[str, str]:
    return {
        "offset": str(AT),
        "group": "billing",
        "delayLevel": str(level),
        "originMsgId": "7F",
        "originTopic": "orders",
        "unitMode": "false",
        "maxReconsumeTimes": "16",
        **more,
    }


def test_a_message_that_is_given_back_waits_for_the_retry_topic_of_its_group() -> None:
    desk = desk_with()
    assert desk.stored(SEND_BACK, fields(), b"") == Answer()
    (message,) = desk.store.appended
    assert (message.topic, message.queue_id, message.body) == ("SCHEDULE_TOPIC_XXXX", 2, b"hello")
    assert (message.flag, message.sys_flag, message.reconsume_times) == (9, 1, 1)
    assert (message.born_timestamp_ms, message.born_host, message.store_host) == (12, "10.0.0.1:7", None)
    assert message.properties == {
        "TAGS": "paid",
        "UNIQ_KEY": "7F",
        "WAIT": "false",
        "CLUSTER": "c",
        "RETRY_TOPIC": "orders",
        "ORIGIN_MESSAGE_ID": "7F000001000051AF00000000000005C6",
        "DELAY": "3",
        "REAL_TOPIC": "%RETRY%billing",
        "REAL_QID": "0",
    }
    assert desk.delayed.noticed == [(3, 5)]
    topic = desk.context.topics.find("%RETRY%billing")
    assert topic == TopicConfig("%RETRY%billing", 1, 1)


def test_what_a_message_was_at_first_is_kept_through_all_retries() -> None:
    again = TestRecord(
        topic="%RETRY%billing",
        properties={
            "RETRY_TOPIC": "orders",
            "ORIGIN_MESSAGE_ID": "00AA",
            "DELAY": "3",
            "REAL_TOPIC": "%RETRY%billing",
            "REAL_QID": "0",
        },
        reconsume_times=1,
    )
    desk = desk_with(again)
    desk.stored(SEND_BACK, fields(), b"")
    (message,) = desk.store.appended
    assert message.properties["RETRY_TOPIC"] == "orders"
    assert message.properties["ORIGIN_MESSAGE_ID"] == "00AA"
    assert (message.properties["DELAY"], message.queue_id, message.reconsume_times) == ("4", 3, 2)


@pytest.mark.parametrize(
    ("times", "level", "queue_id"), [(0, 0, 2), (5, 0, 7), (15, 0, 17), (0, 1, 0), (5, 2, 1), (0, 18, 17), (0, 99, 17)]
)
def test_it_waits_longer_each_time_or_as_long_as_the_consumer_says(times: int, level: int, queue_id: int) -> None:
    desk = desk_with(TestRecord(reconsume_times=times))
    desk.stored(SEND_BACK, fields(level), b"")
    (message,) = desk.store.appended
    assert (message.topic, message.queue_id) == ("SCHEDULE_TOPIC_XXXX", queue_id)
    assert message.properties["DELAY"] == str(queue_id + 1)


@pytest.mark.parametrize(
    ("times", "level", "asked", "version"),
    [(16, 0, "16", 513), (0, -1, "16", 513), (3, 5, "3", 513), (0, 0, "0", 513), (16, 0, "99", 120)],
)
def test_a_message_that_was_tried_too_often_or_that_nobody_wants_is_a_dead_letter(
    times: int, level: int, asked: str, version: int
) -> None:
    desk = desk_with(TestRecord(reconsume_times=times))
    answer = desk.stored(SEND_BACK, fields(level, maxReconsumeTimes=asked), b"", version=version)
    assert answer == Answer()
    (message,) = desk.store.appended
    assert (message.topic, message.queue_id, message.reconsume_times) == ("%DLQ%billing", 0, times + 1)
    assert message.properties["DELAY"] == "0"
    assert message.properties["RETRY_TOPIC"] == "orders"
    assert "REAL_TOPIC" not in message.properties
    assert desk.delayed.noticed == []
    assert desk.context.topics.find("%DLQ%billing") == TopicConfig("%DLQ%billing", 1, 1)


def test_the_group_says_how_often_where_the_consumer_does_not() -> None:
    desk = desk_with(TestRecord(reconsume_times=2))
    desk.context.groups.update([SubscriptionGroup(name="billing", retries_max=2)])
    request = fields()
    del request["maxReconsumeTimes"]
    desk.stored(SEND_BACK, request, b"")
    assert desk.store.appended[0].topic == "%DLQ%billing"


def test_a_group_has_as_many_retry_queues_as_it_is_given() -> None:
    desk = desk_with()
    desk.context.groups.update([SubscriptionGroup(name="billing", retry_queues=4)])
    for _ in range(50):
        desk.stored(SEND_BACK, fields(unitMode="true"), b"")
    assert {message.properties["REAL_QID"] for message in desk.store.appended} == {"0", "1", "2", "3"}
    topic = desk.context.topics.find("%RETRY%billing")
    assert topic is not None
    assert (topic.write_queues, topic.system_flag) == (4, 2)


def test_a_group_without_retry_queues_does_not_want_them_back() -> None:
    desk = desk_with()
    desk.context.groups.update([SubscriptionGroup(name="billing", retry_queues=0)])
    assert desk.ask(SEND_BACK, fields()) == Answer()
    assert desk.store.appended == []


@pytest.mark.parametrize("offset", ["7", "-1", "-9223372036854775808", "9223372036854775807"])
def test_a_message_that_is_not_there_is_said_to_be_missing(offset: str) -> None:
    answer = desk_with().ask(SEND_BACK, fields(offset=offset))
    assert (answer.code, answer.remark) == (
        ResponseCode.SYSTEM_ERROR,
        f"look message by offset failed, {offset}",
    )


def test_who_may_not_is_told_so() -> None:
    desk = Desk(has_auto_create=False)
    answer = desk.ask(SEND_BACK, fields())
    assert answer.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert answer.remark is not None
    assert answer.remark.startswith("subscription group not exist, billing \nSee ")
    answer = desk_with(permission=4).ask(SEND_BACK, fields())
    assert (answer.code, answer.remark) == (
        ResponseCode.NO_PERMISSION,
        "the broker[127.0.0.1] sending message is forbidden",
    )
    desk = desk_with()
    desk.context.topics.update([TopicConfig("%RETRY%billing", 1, 1, permissions=4)])
    answer = desk.ask(SEND_BACK, fields())
    assert (answer.code, answer.remark) == (
        ResponseCode.NO_PERMISSION,
        "the topic[%RETRY%billing] sending message is forbidden",
    )


def test_what_the_store_says_is_told_in_rocketmqs_words() -> None:
    desk = desk_with()
    outcome = desk.outcome(SEND_BACK, fields())
    assert isinstance(outcome, WhenDurable)
    assert (outcome.late_code, outcome.late_remark) == (ResponseCode.SYSTEM_ERROR, "FLUSH_DISK_TIMEOUT")
    desk.store.failure = DiskFull("no space")
    assert desk.ask(SEND_BACK, fields()) == Answer(ResponseCode.SYSTEM_ERROR, "SERVICE_NOT_AVAILABLE")


def test_how_far_levels_are_delivered_is_told_as_in_the_file() -> None:
    answer = Desk().ask(DELAY_OFFSETS)
    assert answer.code == ResponseCode.SUCCESS
    assert answer.body.endswith(b'"offsetTable":{1:7,3:2}}')
    assert json.loads(answer.body.replace(b"1:7,3:2", b""))["dataVersion"]["counter"] == 0
