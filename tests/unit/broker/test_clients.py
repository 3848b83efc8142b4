"""Clients: who is there, what they subscribe to, and who is told when that changes."""

import json

import pytest
from tests.unit.broker.desk import Desk, heartbeat

from escrowmq.broker.client_registry import EXPIRY_MS, PRODUCER_GROUPS_MAX
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol.response_codes import ResponseCode

HEART_BEAT, UNREGISTER, MEMBERS, CHECK = 34, 35, 38, 46
CONSUMERS, PRODUCERS = 203, 204


def members(desk: Desk, group: str = "billing") -> list[str]:
    """The ids of a group's members."""
    answer = desk.ask(MEMBERS, {"consumerGroup": group})
    ids: list[str] = json.loads(answer.body)["consumerIdList"]
    return ids


def test_members_of_a_group_are_told_of_each_other() -> None:
    desk = Desk()
    answer = desk.ask(HEART_BEAT, body=heartbeat("one"), connection=1)
    assert answer.ext_fields == {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "true"}
    assert desk.told() == {"billing"}
    desk.ask(HEART_BEAT, body=heartbeat("one"), connection=1)
    assert desk.told() == set()
    desk.ask(HEART_BEAT, body=heartbeat("two"), connection=2)
    assert desk.told() == {"billing"}
    assert members(desk) == ["one", "two"]


def test_a_group_without_members_is_an_error_as_clients_expect() -> None:
    answer = Desk().ask(MEMBERS, {"consumerGroup": "billing"})
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "no consumer for this group, billing")


def test_who_unregisters_is_gone_and_the_others_are_told() -> None:
    desk = Desk()
    for connection, client in enumerate(("one", "two")):
        desk.ask(HEART_BEAT, body=heartbeat(client), connection=connection)
    desk.told()
    desk.ask(UNREGISTER, {"clientID": "one", "consumerGroup": "billing"}, connection=0)
    assert desk.told() == {"billing"}
    assert members(desk) == ["two"]
    desk.ask(UNREGISTER, {"clientID": "two", "consumerGroup": "billing"}, connection=1)
    assert desk.context.clients.consumer_group("billing") is None


def test_a_closed_connection_takes_its_members_and_producers_along() -> None:
    desk = Desk()
    producers = [{"groupName": "shop"}]
    desk.ask(HEART_BEAT, body=heartbeat("one", producerDataSet=producers), connection=1)
    desk.ask(HEART_BEAT, body=heartbeat("one", "audit"), connection=1)
    desk.ask(HEART_BEAT, body=heartbeat("two"), connection=2)
    assert desk.context.clients.close(1) == ["audit", "billing"]
    assert members(desk) == ["two"]
    assert desk.ask(PRODUCERS, {"producerGroup": "shop"}).code == ResponseCode.SYSTEM_ERROR
    assert desk.context.clients.close(1) == []


def test_clients_expire_without_heartbeats_and_not_with() -> None:
    desk = Desk()
    desk.ask(HEART_BEAT, body=heartbeat("one"), connection=1)
    desk.ask(HEART_BEAT, body=heartbeat("two"), connection=2)
    desk.now_ms += EXPIRY_MS
    desk.ask(HEART_BEAT, body=heartbeat("two"), connection=2)
    assert desk.context.clients.expired(now_ms=desk.now_ms) == []
    assert desk.context.clients.expired(now_ms=desk.now_ms + 1) == [1]
    desk.context.clients.close(1)
    assert desk.context.clients.expired(now_ms=desk.now_ms + 1) == []


def test_a_new_subscription_is_told_and_a_newer_one_of_the_same_topic_holds_silently() -> None:
    desk = Desk()
    desk.ask(HEART_BEAT, body=heartbeat(topics={"orders": (1,)}, version=5))
    desk.told()
    before = desk.context.clients.subscriptions_version
    desk.ask(HEART_BEAT, body=heartbeat(topics={"orders": (2,)}, version=4))
    assert desk.context.clients.subscriptions_version == before
    desk.ask(HEART_BEAT, body=heartbeat(topics={"orders": (2,)}, version=6))
    group = desk.context.clients.consumer_group("billing")
    assert group is not None
    assert group.subscriptions["orders"].codes == [2]
    assert (desk.told(), desk.context.clients.subscriptions_version) == (set(), before + 1)
    desk.ask(HEART_BEAT, body=heartbeat(topics={"orders": (2,), "payments": ()}, version=6))
    assert desk.told() == {"billing"}
    desk.ask(HEART_BEAT, body=heartbeat(topics={"payments": ()}, version=6))
    assert (desk.told(), list(group.subscriptions)) == ({"billing"}, ["payments"])


def test_a_heartbeat_of_the_second_kind_may_leave_out_what_is_known() -> None:
    desk = Desk()
    full = heartbeat(topics={"orders": (1,)}, heartbeatFingerprint=77, withoutSub=False)
    assert desk.ask(HEART_BEAT, body=full).ext_fields["IS_SUB_CHANGE"] == "false"
    short = heartbeat(topics={}, heartbeatFingerprint=77, withoutSub=True)
    assert desk.ask(HEART_BEAT, body=short).ext_fields["IS_SUB_CHANGE"] == "false"
    group = desk.context.clients.consumer_group("billing")
    assert group is not None
    assert list(group.subscriptions) == ["orders"]
    other = heartbeat(topics={}, heartbeatFingerprint=78, withoutSub=True)
    assert desk.ask(HEART_BEAT, body=other).ext_fields["IS_SUB_CHANGE"] == "true"


def test_who_leaves_out_what_is_not_known_is_asked_to_say_it() -> None:
    """As after a broken connection: RocketMQ would say that nothing has changed, and the client would never pull."""
    short = heartbeat(topics={}, heartbeatFingerprint=77, withoutSub=True)
    assert Desk().ask(HEART_BEAT, body=short).ext_fields["IS_SUB_CHANGE"] == "true"


@pytest.mark.parametrize("nonsense", [{"codeSet": [2**31]}, {"codeSet": [2**80]}, {"subVersion": 2**64}])
def test_numbers_that_java_could_not_write_are_refused(nonsense: dict[str, object]) -> None:
    subscription = {"topic": "orders", "subString": "a", **nonsense}
    body = {"clientID": "c", "consumerDataSet": [{"groupName": "g", "subscriptionDataSet": [subscription]}]}
    assert Desk().ask(HEART_BEAT, body=json.dumps(body).encode()).code == ResponseCode.SYSTEM_ERROR


def test_a_connection_has_so_many_producer_groups_and_no_more() -> None:
    desk = Desk()
    groups = [{"groupName": f"p{number}"} for number in range(PRODUCER_GROUPS_MAX + 10)]
    for _ in range(2):
        desk.ask(HEART_BEAT, body=json.dumps({"clientID": "c", "producerDataSet": groups}).encode())
    known = [desk.context.clients.producers(group["groupName"]) is not None for group in groups]
    assert sum(known) == PRODUCER_GROUPS_MAX


def test_who_is_no_member_disturbs_nobody_by_leaving() -> None:
    desk = Desk()
    desk.ask(HEART_BEAT, body=heartbeat(), connection=1)
    desk.told()
    desk.ask(UNREGISTER, {"clientID": "stranger", "consumerGroup": "billing"}, connection=2)
    assert desk.told() == set()


def test_the_first_heartbeat_makes_the_groups_retry_topic() -> None:
    desk = Desk()
    desk.context.topics.update([TopicConfig("orders", is_ordered=True)])
    desk.ask(HEART_BEAT, body=heartbeat())
    retry = desk.context.topics.find("%RETRY%billing")
    assert retry == TopicConfig("%RETRY%billing", 1, 1, 6, is_ordered=True)
    saves = desk.topics_file.saves
    desk.ask(HEART_BEAT, body=heartbeat())
    assert desk.topics_file.saves == saves


def test_a_group_that_may_not_be_made_is_not_registered() -> None:
    desk = Desk(has_auto_create=False)
    assert desk.ask(HEART_BEAT, body=heartbeat()).code == ResponseCode.SUCCESS
    assert desk.context.clients.consumer_group("billing") is None


def test_a_group_that_does_not_want_to_be_told_is_not() -> None:
    desk = Desk()
    desk.ask(200, body=json.dumps({"groupName": "billing", "notifyConsumerIdsChangedEnable": False}).encode())
    desk.ask(HEART_BEAT, body=heartbeat())
    desk.ask(UNREGISTER, {"clientID": "client-1", "consumerGroup": "billing"})
    assert desk.told() == set()


def test_connections_are_listed_with_what_they_subscribe_to() -> None:
    desk = Desk()
    desk.ask(HEART_BEAT, body=heartbeat(producerDataSet=[{"groupName": "shop"}]), language="GO", version=401)
    consumers = json.loads(desk.ask(CONSUMERS, {"consumerGroup": "billing"}).body)
    connection = {"clientAddr": "127.0.0.1:40000", "clientId": "client-1", "language": "GO", "version": 401}
    assert consumers["connectionSet"] == [connection]
    assert consumers["subscriptionTable"]["orders"]["subString"] == "*"
    assert (consumers["messageModel"], consumers["consumeType"]) == ("CLUSTERING", "CONSUME_PASSIVELY")
    assert json.loads(desk.ask(PRODUCERS, {"producerGroup": "shop"}).body) == {"connectionSet": [connection]}
    assert desk.ask(CONSUMERS, {"consumerGroup": "nobody"}).code == ResponseCode.CONSUMER_NOT_ONLINE


@pytest.mark.parametrize(
    ("subscription", "code"),
    [
        (None, ResponseCode.SUCCESS),
        ({"topic": "orders", "expressionType": "TAG"}, ResponseCode.SUCCESS),
        ({"topic": "orders", "expressionType": None}, ResponseCode.SUCCESS),
        ({"topic": "orders", "expressionType": "SQL92", "subString": "a > 1"}, ResponseCode.SUCCESS),
        ({"topic": "orders", "expressionType": "SQL92", "subString": "a >"}, ResponseCode.SUBSCRIPTION_PARSE_FAILED),
        ({"topic": "orders", "expressionType": "sql92", "subString": "a > 1"}, ResponseCode.SUBSCRIPTION_PARSE_FAILED),
    ],
)
def test_subscriptions_are_checked_before_they_are_used(subscription: object, code: int) -> None:
    body = json.dumps({"clientId": "c", "group": "g", "subscriptionData": subscription}).encode()
    assert Desk().ask(CHECK, body=body).code == code


def test_what_other_languages_write_is_read() -> None:
    """Null where Java has values, and numbers as strings, as C++ and Node clients write them."""
    desk = Desk()
    body = json.dumps(
        {
            "clientID": "c",
            "producerDataSet": None,
            "consumerDataSet": [
                {
                    "groupName": "billing",
                    "messageModel": "CLUSTERING",
                    "subscriptionDataSet": [
                        {
                            "topic": "orders",
                            "codeSet": ["97536"],
                            "tagsSet": None,
                            "subVersion": "12",
                            "subString": "big",
                        }
                    ],
                }
            ],
        }
    ).encode()
    assert desk.ask(HEART_BEAT, body=body).code == ResponseCode.SUCCESS
    group = desk.context.clients.consumer_group("billing")
    assert group is not None
    assert (group.subscriptions["orders"].codes, group.subscriptions["orders"].version) == ([97536], 12)


def test_many_members_coming_and_going_leave_nothing_behind() -> None:
    desk = Desk()
    for connection in range(500):
        desk.ask(HEART_BEAT, body=heartbeat(f"c{connection}", f"g{connection % 7}"), connection=connection)
    assert len(members(desk, "g3")) == 71
    for connection in range(500):
        desk.context.clients.close(connection)
    assert desk.context.clients.consumer_groups == {}
    assert desk.context.clients.expired(now_ms=10**12) == []
