"""Subscription groups: which a broker has, how they come and go, and what stays on disk."""

import json
from pathlib import Path

import pytest
from tests.golden.recordings import unpack_store
from tests.unit.broker.desk import Desk, TextInMemory, heartbeat

from escrowmq._core import ConfigFile
from escrowmq.broker.outcome import RETRY
from escrowmq.broker.subscriptions import SubscriptionGroups
from escrowmq.model.names import SYSTEM_GROUPS
from escrowmq.model.subscription import SubscriptionGroup
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

UPDATE, UPDATE_LIST, DELETE, SHOW, SHOW_ALL = 200, 225, 207, 352, 201
PULL = RequestCode.PULL_MESSAGE


def pull(
    group: str = "billing", topic: str = "orders", *, flag: int = 2, expression_type: str = "TAG"
) -> dict[str, str]:
    """Fields of PULL_MESSAGE."""
    return {
        "consumerGroup": group,
        "topic": topic,
        "queueId": "0",
        "sysFlag": str(flag),
        "expressionType": expression_type,
    }


def test_a_new_broker_has_the_groups_of_apaches(tmp_path: Path) -> None:
    file = ConfigFile(unpack_store("clean", tmp_path), "subscriptionGroup.json")
    recorded = json.loads(file.load() or "")["subscriptionGroupTable"]
    groups = SubscriptionGroups(file, now_ms=lambda: 0)
    assert set(SYSTEM_GROUPS) <= recorded.keys()
    assert groups.find("SELF_TEST_C_GROUP") == SubscriptionGroup(name="SELF_TEST_C_GROUP")
    assert groups.table.keys() == recorded.keys()


def test_groups_are_made_altered_shown_and_deleted() -> None:
    desk = Desk()
    body = json.dumps({"groupName": "billing", "consumeEnable": False, "retryMaxTimes": 3}).encode()
    assert desk.ask(UPDATE, body=body).code == ResponseCode.SUCCESS
    shown = json.loads(desk.ask(SHOW, {"group": "billing"}).body)
    assert (shown["consumeEnable"], shown["retryMaxTimes"], shown["retryQueueNums"]) == (False, 3, 1)
    answer = desk.ask(SHOW_ALL)
    assert json.loads(answer.body)["subscriptionGroupTable"]["billing"] == shown
    assert Desk(groups=desk.groups_file).context.groups.table == desk.context.groups.table
    assert desk.ask(DELETE, {"groupName": "billing", "cleanOffset": "true"}).code == ResponseCode.SUCCESS
    assert desk.context.groups.find("billing") is None
    assert desk.offsets.removed == [("billing", None)]
    assert desk.offsets_saved == [{}], "they would come back with a kill"


def test_a_group_that_can_not_be_deleted_is_left_as_it_is() -> None:
    forbidden = (
        '{"forbiddenTable":{"billing":{"orders":1}},"subscriptionGroupTable":{"billing":{"groupName":"billing"}}}'
    )
    desk = Desk(groups=TextInMemory(forbidden))
    desk.offsets.committed = {"orders@billing": {0: 7}}
    desk.groups_file.is_full = True
    assert desk.ask(DELETE, {"groupName": "billing", "cleanOffset": "true"}).code == ResponseCode.SYSTEM_ERROR
    assert desk.context.groups.find("billing") is not None
    assert desk.context.groups.forbidden == {"billing": {"orders": 1}}
    assert desk.offsets.committed == {"orders@billing": {0: 7}}
    assert "billing" not in desk.fast_lane.groups, "nobody committed as it meanwhile"
    desk.context.snapshots.publish(desk.fast_lane)
    assert "billing" in desk.fast_lane.groups


def test_several_groups_are_made_at_once_or_none() -> None:
    desk = Desk()
    both = json.dumps({"groupConfigList": [{"groupName": "a"}, {"groupName": "b b"}]}).encode()
    assert desk.ask(UPDATE_LIST, body=both).code == ResponseCode.INVALID_PARAMETER
    assert desk.context.groups.find("a") is None
    assert desk.ask(UPDATE_LIST, body=both.replace(b"b b", b"b")).code == ResponseCode.SUCCESS
    assert desk.context.groups.find("a") is not None


@pytest.mark.parametrize("name", [" ", "a b", "../x", "a" * 121])
def test_names_that_no_group_may_have_are_refused(name: str) -> None:
    desk = Desk()
    assert desk.ask(UPDATE, body=json.dumps({"groupName": name}).encode()).code == ResponseCode.INVALID_PARAMETER
    assert desk.ask(SHOW, {"group": name}).code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert desk.groups_file.saves == 0


def test_a_group_is_made_when_somebody_reads_as_it() -> None:
    desk = Desk()
    desk.ask(
        17,
        {
            "topic": "orders",
            "defaultTopic": "",
            "readQueueNums": "1",
            "writeQueueNums": "1",
            "perm": "6",
            "topicFilterType": "SINGLE_TAG",
        },
    )
    assert desk.outcome(PULL, pull(flag=6)) == RETRY
    assert desk.context.groups.find("billing") is not None
    refusing = Desk(has_auto_create=False)
    assert refusing.ask(PULL, pull(flag=6)).code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST


def test_a_pull_that_misses_something_is_told_what() -> None:
    desk = Desk()
    assert desk.ask(PULL, pull()).code == ResponseCode.TOPIC_NOT_EXIST
    desk.context.topics.create([TopicConfig("orders", 4, 4)])
    assert desk.ask(PULL, pull()).code == ResponseCode.SUBSCRIPTION_NOT_EXIST
    desk.ask(RequestCode.HEART_BEAT, body=heartbeat(topics={"payments": ()}))
    assert desk.ask(PULL, pull()).remark == (
        "the consumer's subscription not exist"
        "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
    )
    desk.ask(RequestCode.HEART_BEAT, body=heartbeat())
    assert desk.outcome(PULL, pull()) == RETRY


def test_a_group_that_may_not_broadcast_is_refused_when_it_does() -> None:
    desk = Desk()
    desk.context.topics.create([TopicConfig("orders", 4, 4)])
    desk.ask(UPDATE, body=json.dumps({"groupName": "billing", "consumeBroadcastEnable": False}).encode())
    desk.ask(RequestCode.HEART_BEAT, body=heartbeat(model="BROADCASTING"))
    answer = desk.ask(PULL, pull())
    assert (answer.code, answer.ext_fields) == (ResponseCode.NO_PERMISSION, {"forbiddenType": "4"})


def test_offsets_of_groups_and_topics_that_are_not_there_are_refused() -> None:
    desk = Desk()
    fields = {"consumerGroup": "billing", "topic": "orders", "queueId": "0", "commitOffset": "1"}
    assert desk.ask(RequestCode.UPDATE_CONSUMER_OFFSET, fields).remark == "Group billing not exist!"
    desk.ask(SHOW, {"group": "billing"})
    assert desk.ask(RequestCode.UPDATE_CONSUMER_OFFSET, fields).remark == "Topic orders not exist!"
    desk.context.topics.create([TopicConfig("orders", 4, 4)])
    assert desk.outcome(RequestCode.UPDATE_CONSUMER_OFFSET, fields) == RETRY
