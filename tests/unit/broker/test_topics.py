"""Topics: which a broker has, how they come, change and go, and what stays on disk."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.golden.recordings import unpack_store
from tests.unit.broker.desk import Desk, TestStore, TextInMemory, send

from escrowmq._core import ConfigFile
from escrowmq.broker import topics as topics_module
from escrowmq.broker.outcome import RETRY
from escrowmq.broker.topics import TopicRules, Topics, system_topics
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

CREATE, CREATE_LIST, DELETE, STATS = 17, 18, 215, 202
SHOW, SHOW_ALL, SEND = 351, 21, RequestCode.SEND_MESSAGE_V2


def fields(topic: str = "orders", **more: str) -> dict[str, str]:
    """Fields of UPDATE_AND_CREATE_TOPIC."""
    return {
        "topic": topic,
        "defaultTopic": "TBW102",
        "readQueueNums": "4",
        "writeQueueNums": "4",
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
        **more,
    }


def test_a_new_broker_has_the_topics_of_apaches(tmp_path: Path) -> None:
    """What Apache's broker had made by itself, read from the store that it left; RocksDB and discards come later."""
    store = unpack_store("clean", tmp_path)
    recorded = Topics(TopicRules(broker_name="x", cluster="y"), ConfigFile(store, "topics.json"), now_ms=lambda: 0)
    ours = system_topics(TopicRules(broker_name="broker-a", cluster="DefaultCluster"))
    assert {name: recorded.find(name) for name in ours} == ours
    assert {"orders", "%RETRY%billing"} <= recorded.table.keys()
    assert recorded.data_version.counter == 11


def test_topics_survive_a_restart_and_their_version_goes_on() -> None:
    desk = Desk()
    assert desk.ask(CREATE, fields()).code == ResponseCode.SUCCESS
    assert desk.ask(CREATE, fields("payments", perm="4")).code == ResponseCode.SUCCESS
    again = Desk(topics=desk.topics_file)
    assert again.context.topics.table == desk.context.topics.table
    assert again.context.topics.data_version == desk.context.topics.data_version
    assert again.context.topics.data_version.counter == 2
    assert desk.topics_file.value["topicConfigTable"]["payments"]["perm"] == 4


def test_the_same_topic_again_changes_nothing() -> None:
    desk = Desk()
    desk.ask(CREATE, fields())
    assert desk.ask(CREATE, fields()).code == ResponseCode.SUCCESS
    assert desk.topics_file.saves == 1


def test_a_topic_that_can_not_be_saved_is_not_made() -> None:
    desk = Desk()
    desk.topics_file.is_full = True
    answer = desk.ask(CREATE, fields())
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "No space left" in (answer.remark or "")
    assert desk.context.topics.find("orders") is None
    assert desk.context.topics.take_changed() == []


@pytest.mark.parametrize(
    ("topic", "remark"),
    [
        (" ", "The specified topic is blank."),
        ("../etc", "contains illegal characters"),
        ("größe", "contains illegal characters"),
        ("a" * 128, "is longer than topic max length: 127"),
        ("%RETRY%" + "a" * 249, "longer than topic max length: 255"),
        ("TBW102", "The topic[TBW102] is conflict with system topic."),
        ("broker-a", "The topic[broker-a] is conflict with system topic."),
        ("rmq_sys_mine", "The topic[rmq_sys_mine] is conflict with system topic."),
    ],
)
def test_names_that_no_topic_may_have_are_refused(topic: str, remark: str) -> None:
    desk = Desk()
    answer = desk.ask(CREATE, fields(topic))
    assert (answer.code, remark in (answer.remark or "")) == (ResponseCode.INVALID_PARAMETER, True)
    several = json.dumps({"topicConfigList": [{"topicName": "fine"}, {"topicName": topic}]}).encode()
    assert desk.ask(CREATE_LIST, body=several).code == ResponseCode.INVALID_PARAMETER
    assert desk.context.topics.find("fine") is None


def test_several_topics_are_made_at_once() -> None:
    desk = Desk()
    several = json.dumps({"topicConfigList": [{"topicName": "a"}, {"topicName": "b", "readQueueNums": 2}]}).encode()
    assert desk.ask(CREATE_LIST, body=several).code == ResponseCode.SUCCESS
    assert [topic.name for topic in desk.context.topics.take_changed()] == ["a", "b"]
    assert desk.topics_file.saves == 1


def test_a_deleted_topic_is_gone_with_what_groups_have_read() -> None:
    desk = Desk()
    desk.ask(CREATE, fields())
    assert desk.ask(DELETE, {"topic": "orders"}).code == ResponseCode.SUCCESS
    assert desk.context.topics.find("orders") is None
    assert desk.offsets.removed == [(None, "orders")]
    assert desk.offsets_saved == [{}], "they would come back with a kill"
    assert Desk(topics=desk.topics_file).context.topics.find("orders") is None


@pytest.mark.parametrize("topic", sorted(system_topics(TopicRules(broker_name="broker-a", cluster="DefaultCluster"))))
def test_the_brokers_own_topics_can_not_be_deleted(topic: str) -> None:
    desk = Desk()
    assert desk.ask(DELETE, {"topic": topic}).code == ResponseCode.INVALID_PARAMETER
    assert desk.context.topics.find(topic) is not None


def test_a_topic_is_made_when_somebody_sends_to_it() -> None:
    desk = Desk()
    assert desk.outcome(SEND, send("orders")) == RETRY
    topic = desk.context.topics.find("orders")
    assert topic is not None
    assert (topic.read_queues, topic.write_queues, topic.permissions) == (4, 4, 6)
    assert desk.outcome(SEND, send("many", d="100")) == RETRY
    many = desk.context.topics.find("many")
    assert many is not None
    assert many.write_queues == 8


def test_no_topic_is_made_where_the_broker_or_the_default_topic_does_not_allow_it() -> None:
    assert Desk(has_auto_create=False).ask(SEND, send("orders")).code == ResponseCode.TOPIC_NOT_EXIST
    desk = Desk()
    assert desk.ask(SEND, send("orders", c="SELF_TEST_TOPIC")).code == ResponseCode.TOPIC_NOT_EXIST
    assert desk.ask(SEND, send("orders", c="nowhere")).code == ResponseCode.TOPIC_NOT_EXIST
    assert desk.ask(SEND, send("../orders")).code == ResponseCode.INVALID_PARAMETER
    assert desk.topics_file.saves == 0


@pytest.mark.parametrize(
    "topic",
    ["SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "rmq_sys_wheel_timer"],
)
def test_nobody_sends_to_topics_in_which_the_broker_keeps_its_own(topic: str) -> None:
    assert Desk().ask(SEND, send(topic)).code == ResponseCode.NO_PERMISSION


def test_topics_are_shown_one_by_one_and_all_together() -> None:
    desk = Desk()
    desk.ask(CREATE, fields(attributes="+message.type=FIFO"))
    shown: Any = json.loads(desk.ask(SHOW, {"topic": "orders"}).body)
    assert shown == {
        "attributes": {"message.type": "FIFO"},
        "order": False,
        "perm": 6,
        "readQueueNums": 4,
        "topicFilterType": "SINGLE_TAG",
        "topicName": "orders",
        "topicSysFlag": 0,
        "writeQueueNums": 4,
    }
    answer = desk.ask(SHOW_ALL)
    everything = json.loads(answer.body)
    assert everything["topicConfigTable"]["orders"] == shown
    assert answer.ext_fields == {"totalTopicNum": str(len(everything["topicConfigTable"]))}
    assert everything["dataVersion"]["counter"] == 1
    assert desk.ask(SHOW, {"topic": "payments"}).code == ResponseCode.TOPIC_NOT_EXIST


@pytest.mark.parametrize(
    ("changes", "remark"),
    [
        ("message.type=FIFO", "add/alter attribute format is wrong: message.type"),
        ("+message.type", "delete attribute format is wrong: +message.type"),
        ("+message.type=WILD", "value is not in set or not supported: message.type=WILD"),
        ("+colour=red", "unsupported key: colour"),
        ("-message.type", "only add attribute is supported while creating topic. key: message.type"),
        ("+queue.type=BatchCQ", "value is not in set or not supported: queue.type=BatchCQ"),
    ],
)
def test_attributes_that_no_topic_may_have_are_refused(changes: str, remark: str) -> None:
    answer = Desk().ask(CREATE, fields(attributes=changes))
    assert (answer.code, (answer.remark or "").endswith(remark)) == (ResponseCode.SYSTEM_ERROR, True)


def test_attributes_are_set_and_removed() -> None:
    desk = Desk()
    desk.ask(CREATE, fields(attributes="+message.type=FIFO,+queue.type=SimpleCQ"))
    assert desk.ask(CREATE, fields(attributes="+message.type=DELAY")).code == ResponseCode.SUCCESS
    assert desk.ask(CREATE, fields(attributes="+queue.type=SimpleCQ")).code == ResponseCode.SYSTEM_ERROR
    assert desk.ask(CREATE, fields(attributes="-message.type")).code == ResponseCode.SUCCESS
    topic = desk.context.topics.find("orders")
    assert topic is not None
    assert topic.attributes == {"queue.type": "SimpleCQ"}
    assert desk.ask(CREATE, fields("b", attributes="+message.type=MIXED")).code == ResponseCode.INVALID_PARAMETER


def test_a_topics_file_that_is_none_is_refused_at_the_start() -> None:
    with pytest.raises(ValueError, match="Expected `object`"):
        Desk(topics=TextInMemory('{"topicConfigTable": []}'))


def test_the_queues_of_a_topic_are_shown_with_what_they_hold() -> None:
    desk = Desk(store=TestStore({("orders", 1): [10, 20]}))
    desk.ask(CREATE, fields(readQueueNums="2", writeQueueNums="1"))
    assert desk.ask(STATS, {"topic": "orders"}).body == (
        b'{"offsetTable":{'
        b'{"brokerName":"broker-a","queueId":0,"topic":"orders"}:{"lastUpdateTimestamp":0,"maxOffset":0,"minOffset":0},'
        b'{"brokerName":"broker-a","queueId":1,"topic":"orders"}:{"lastUpdateTimestamp":20,"maxOffset":2,"minOffset":0}'
        b'},"topicPutTps":0.0}'
    )
    assert desk.ask(STATS, {"topic": "payments"}).code == ResponseCode.TOPIC_NOT_EXIST


@pytest.mark.parametrize("numbers", [{"readQueueNums": -1}, {"writeQueueNums": 2**40}, {"perm": 99}])
def test_numbers_that_no_topic_may_have_are_refused(numbers: dict[str, int]) -> None:
    desk = Desk()
    body = json.dumps({"topicConfigList": [{"topicName": "orders", **numbers}]}).encode()
    assert desk.ask(CREATE_LIST, body=body).code == ResponseCode.INVALID_PARAMETER
    header = {name: str(number) for name, number in numbers.items()}
    assert desk.ask(CREATE, fields(**header)).code == ResponseCode.SYSTEM_ERROR
    assert desk.topics_file.saves == 0


def test_clients_make_so_many_topics_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()
    monkeypatch.setattr(topics_module, "TOPICS_MAX", len(desk.context.topics.table) + 1)
    assert desk.outcome(SEND, send("one")) == RETRY
    assert desk.ask(SEND, send("two")).code == ResponseCode.TOPIC_NOT_EXIST
    assert desk.ask(CREATE, fields("two")).code == ResponseCode.SUCCESS
