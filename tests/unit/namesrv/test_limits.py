"""What peers make the name server hold is bounded, and who asks for more is told so."""

import json

import pytest
from tests.golden.name_server_conversation import PUT_KV, REGISTER, REGISTER_TOPIC, ROUTE, TOPICS, broker, table, topic
from tests.unit.namesrv.desk import Desk, KeptInMemory

from escrowmq.errors import ConfigError
from escrowmq.namesrv import limits
from escrowmq.namesrv.kv_config import KvConfig
from escrowmq.protocol.response_codes import ResponseCode


@pytest.mark.parametrize("field", ["brokerName", "brokerAddr", "clusterName"])
@pytest.mark.parametrize("name", ["", "x" * 1_025])
def test_a_broker_has_a_name_of_sensible_length(field: str, name: str) -> None:
    desk = Desk()
    answer = desk.ask(REGISTER, {**broker(), field: name}, table(*TOPICS))
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark is not None
    assert answer.remark.startswith(field)
    assert desk.routes.brokers == {}


def test_a_topic_has_a_name_of_sensible_length() -> None:
    desk = Desk()
    long = "x" * 1_025
    assert desk.ask(REGISTER, broker(), table(*TOPICS, topic(long))).code == ResponseCode.SYSTEM_ERROR
    assert desk.ask(ROUTE, {"topic": long}).remark == "topic has 1025 characters, the most are 1024"


def test_brokers_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BROKERS_MAX", 2)
    desk = Desk()
    asked = [desk.ask(REGISTER, broker(f"b{number}", number), table(*TOPICS)).code for number in (1, 2, 3, 1)]
    assert asked == [ResponseCode.SUCCESS, ResponseCode.SUCCESS, ResponseCode.SYSTEM_ERROR, ResponseCode.SUCCESS]


def test_topics_of_brokers_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TOPIC_QUEUES_MAX", 2 * len(TOPICS))
    desk = Desk()
    for number in (1, 2, 1):
        assert desk.ask(REGISTER, broker(f"b{number}", number), table(*TOPICS)).code == ResponseCode.SUCCESS
    assert desk.ask(REGISTER, broker("b1", 1), table(topic("more"), counter=2)).code == ResponseCode.SYSTEM_ERROR
    queues = {"brokerName": "b1", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6, "topicSysFlag": 0}
    route = json.dumps({"brokerDatas": [], "filterServerTable": {}, "queueDatas": [queues]}).encode()
    assert desk.ask(REGISTER_TOPIC, {"topic": "more"}, route).code == ResponseCode.SYSTEM_ERROR
    assert set(desk.routes.topics) == {one["topicName"] for one in TOPICS}


def test_filter_servers_are_counted() -> None:
    answer = Desk().ask(REGISTER, broker(), table(*TOPICS, filters=["127.0.0.1:1"] * 129))
    assert answer.remark == "filterServerList has 129 entries, the most are 128"


def test_kept_values_have_a_size() -> None:
    values = KvConfig(KeptInMemory(), size_max_bytes=100)
    values.put("n", "k", "v" * 50)
    with pytest.raises(ConfigError, match="at most 100 bytes"):
        values.put("n", "l", "v" * 50)
    assert values.namespace("n") == {"k": "v" * 50}
    assert Desk().ask(PUT_KV, {"namespace": "n", "key": "k", "value": "v" * 1_000}).code == ResponseCode.SUCCESS
