"""What operators are told of groups: how far they are, and who reads what."""

import pytest
from tests.unit.broker.desk import Desk, TestStore, heartbeat
from tests.unit.namesrv.desk import fastjson_value

from escrowmq.protocol import object_keys
from escrowmq.protocol.response_codes import ResponseCode

HEART_BEAT, CREATE_TOPIC = 34, 17
STATS, ALL_STATS, TIME_SPANS, WHO, TOPICS, SUBSCRIPTION, OFFSETS = 208, 317, 303, 300, 343, 345, 43


@pytest.fixture
def desk() -> Desk:
    """Two queues of `orders` with five messages and one, of which `billing` has consumed two, and pulled four."""
    desk = Desk(store=TestStore({("orders", 0): [100, 200, 300, 400, 500], ("orders", 1): [600]}))
    create(desk, "orders", 2)
    desk.offsets.committed["orders@billing"] = {0: 2}
    desk.offsets.pulled["orders@billing"] = {0: 4}
    return desk


def create(desk: Desk, topic: str, queues: int) -> None:
    fields = {
        "topic": topic,
        "defaultTopic": "TBW102",
        "readQueueNums": str(queues),
        "writeQueueNums": str(queues),
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
    }
    assert desk.ask(CREATE_TOPIC, fields).code == ResponseCode.SUCCESS


def queue(number: int, topic: str = "orders") -> str:
    return f'{{"brokerName":"broker-a","queueId":{number},"topic":"{topic}"}}'


def value(body: bytes) -> object:
    return fastjson_value(object_keys.with_text_keys(body))


def progress(broker: int, consumer: int, last_ms: int, pulled: int) -> dict[str, int]:
    return {"brokerOffset": broker, "consumerOffset": consumer, "lastTimestamp": last_ms, "pullOffset": pulled}


BILLING = {queue(0): progress(5, 2, 200, 4), queue(1): progress(1, 0, 0, 0)}


@pytest.mark.parametrize("fields", [{}, {"topic": "orders"}, {"topicList": "orders;none;"}])
def test_how_far_a_group_is_is_said_queue_by_queue(desk: Desk, fields: dict[str, str]) -> None:
    answer = desk.ask(STATS, {"consumerGroup": "billing", **fields})
    assert value(answer.body) == {"consumeTps": 0.0, "offsetTable": BILLING}


def test_a_topic_that_a_group_with_members_does_not_subscribe_to_is_left_out(desk: Desk) -> None:
    desk.ask(HEART_BEAT, body=heartbeat(topics={"other": ()}))
    assert value(desk.ask(STATS, {"consumerGroup": "billing"}).body) == {"consumeTps": 0.0, "offsetTable": {}}
    listed = desk.ask(STATS, {"consumerGroup": "billing", "topicList": "orders"})
    assert value(listed.body) == {"consumeTps": 0.0, "offsetTable": BILLING}


def test_all_groups_are_shown_with_what_they_are_behind_together(desk: Desk) -> None:
    desk.ask(200, body=b'{"groupName":"billing"}')
    answer = fastjson_value(object_keys.with_text_keys(desk.ask(ALL_STATS, {"isOrder": "false"}).body))
    assert (answer["totalDiff"], answer["totalInflightDiff"]) == (4, 2)
    assert {"billing": [{"consumeTps": 0.0, "offsetTable": BILLING}]} in answer["consumeStatsList"]
    ordered = fastjson_value(object_keys.with_text_keys(desk.ask(ALL_STATS, {"isOrder": "true"}).body))
    assert {"billing": []} in ordered["consumeStatsList"]


def test_time_spans_say_from_when_to_when_messages_are(desk: Desk) -> None:
    desk.now_ms = 1_000
    spans = fastjson_value(desk.ask(TIME_SPANS, {"topic": "orders", "group": "billing"}).body)["consumeTimeSpanSet"]
    times = [(row["minTimeStamp"], row["maxTimeStamp"], row["consumeTimeStamp"], row["delayTime"]) for row in spans]
    # Compat: of a queue that the group never committed, RocketMQ says that it is behind since before 1970.
    assert times == [(100, 500, 200, 700), (600, 600, 600, 1_001)]
    assert spans[0]["messageQueue"] == {"brokerName": "broker-a", "queueId": 0, "topic": "orders"}
    assert spans[0]["minTimeStampStr"].endswith(":00:100")
    missing = desk.ask(TIME_SPANS, {"topic": "none", "group": "billing"})
    assert (missing.code, missing.remark) == (ResponseCode.TOPIC_NOT_EXIST, "topic[none] not exist")


def test_who_reads_a_topic_is_who_has_read_it_or_wants_to(desk: Desk) -> None:
    assert value(desk.ask(WHO, {"topic": "orders"}).body) == {"groupList": ["billing"]}
    desk.ask(HEART_BEAT, body=heartbeat(group="audit"))
    assert value(desk.ask(WHO, {"topic": "orders"}).body) == {"groupList": ["audit", "billing"]}
    assert value(desk.ask(TOPICS, {"group": "billing"}).body) == {
        "topicList": ["orders"],
        "brokerAddr": "127.0.0.1:10911",
    }


def test_a_subscription_is_shown_while_the_group_has_a_member(desk: Desk) -> None:
    fields = {"group": "audit", "topic": "orders"}
    assert value(desk.ask(SUBSCRIPTION, fields).body) == fields
    desk.ask(HEART_BEAT, body=heartbeat(group="audit"))
    shown = fastjson_value(desk.ask(SUBSCRIPTION, fields).body)
    assert shown["subscriptionData"]["subString"] == "*"


def test_all_offsets_are_shown_as_the_file_has_them(desk: Desk) -> None:
    assert desk.ask(OFFSETS).body == (
        b'{"dataVersion":{"counter":7,"stateVersion":0,"timestamp":0},"groupTopicMap":{"billing":["orders"]},'
        b'"offsetTable":{"orders@billing":{0:2}},"pullOffsetTable":{"orders@billing":{0:4}}}'
    )
