"""Requests with filters by properties: what is served, and what is refused how."""

import json
from typing import Any

import pytest
from tests.unit.broker.desk import Desk, TestFastLane, heartbeat
from tests.unit.broker.test_snapshot import snapshots_of

from escrowmq import PropertyFilter, SubscriptionEntry
from escrowmq.broker.outcome import RETRY
from escrowmq.broker_config import BrokerConfig
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode

HEART_BEAT, UNREGISTER, PULL, CHECK = 34, 35, 11, 46
BROUGHT = 4
UNSUPPORTED = "The broker does not support consumer to filter message by SQL92"
NO_FILTER = "The broker's consumer filter data is not exist!Your expression may be wrong!"


def made(*, has_property_filters: bool = True) -> Desk:
    desk = Desk(config=BrokerConfig(has_property_filters=has_property_filters))
    desk.context.topics.create([TopicConfig("orders", 4, 4)])
    return desk


def beat(desk: Desk, expression: str, version: int = 7, kind: str = "SQL92", connection: int = 1) -> None:
    """A heartbeat of a group that wants this of `orders`."""
    data = json.loads(heartbeat())
    said = {"topic": "orders", "expressionType": kind, "subString": expression, "subVersion": version}
    data["consumerDataSet"][0]["subscriptionDataSet"] = [said]
    desk.ask(HEART_BEAT, body=json.dumps(data).encode(), connection=connection)


def pull(flag: int = 0, version: int = 7, **fields: str) -> dict[str, str]:
    said = {"consumerGroup": "billing", "topic": "orders", "queueId": "0"}
    return {**said, "sysFlag": str(flag), "subVersion": str(version), **fields}


def brought(expression: str, kind: str = "SQL92") -> dict[str, str]:
    """A pull that brings an expression along."""
    return pull(BROUGHT, expressionType=kind, subscription=expression)


def refusal(desk: Desk, fields: dict[str, str]) -> tuple[int, str | None]:
    answer = desk.ask(PULL, fields)
    return answer.code, answer.remark


def told(desk: Desk, **more: bool) -> Any:
    lane = TestFastLane()
    snapshots_of(desk, **more).publish(lane)
    return lane.subscriptions


def test_the_fast_lane_is_told_the_filter_of_a_group() -> None:
    desk = made()
    beat(desk, "a > 3")
    entry = SubscriptionEntry(version=7, expression_type="SQL92", property_filter=PropertyFilter("a > 3"))
    assert told(desk) == {("billing", "orders"): entry}
    without = SubscriptionEntry(version=7, expression_type="SQL92")
    assert told(desk, has_property_filters=False) == {("billing", "orders"): without}
    beat(desk, "a >", 8)
    assert told(desk) == {("billing", "orders"): SubscriptionEntry(version=8, expression_type="SQL92")}


def test_the_fast_lane_is_told_again_when_a_filter_changes() -> None:
    desk, lane = made(), TestFastLane()
    snapshots = snapshots_of(desk)
    snapshots.publish(lane)
    beat(desk, "a > 3")
    snapshots.publish(lane)
    told_before = len(lane.told)
    beat(desk, "a > 3")
    snapshots.publish(lane)
    assert len(lane.told) == told_before
    desk.context.filters.unregister("billing")
    snapshots.publish(lane)
    assert len(lane.told) == told_before + 1


def test_a_filter_is_dead_when_its_last_consumer_is_gone() -> None:
    desk = made()

    def is_dead() -> bool:
        known = desk.context.filters.find("billing", "orders")
        assert known is not None
        return known.kept.is_dead

    for connection in (1, 2):
        beat(desk, "a > 3", connection=connection)
    desk.ask(UNREGISTER, {"clientID": "client-1", "consumerGroup": "billing"}, connection=1)
    assert not is_dead()
    desk.context.close_client(2)
    assert is_dead()
    assert desk.told() == {"billing"}
    beat(desk, "a > 3", connection=3)
    assert not is_dead()
    desk.ask(UNREGISTER, {"clientID": "client-1", "consumerGroup": "billing"}, connection=3)
    assert is_dead()


def test_a_pull_that_brings_a_wrong_expression_is_told_the_place() -> None:
    desk = made()
    assert desk.outcome(PULL, brought("a > 3")) == RETRY
    code, remark = refusal(desk, brought("a = 1 AND\nb >"))
    assert code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert remark == (
        "the filter expression is wrong at line 2, column 4: expected a property, a value, NOT or (, found the end"
    )
    assert refusal(desk, brought("a > 3", "FOO"))[0] == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    nothing = (ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed")
    assert refusal(desk, brought("")) == nothing
    assert refusal(desk, pull(BROUGHT, expressionType="SQL92")) == nothing


def test_a_pull_of_a_group_whose_expression_is_wrong_is_told_the_place() -> None:
    desk = made()
    beat(desk, "a >")
    code, remark = refusal(desk, pull())
    assert code == ResponseCode.FILTER_DATA_NOT_EXIST
    assert remark is not None
    assert remark.startswith(f"{NO_FILTER} the filter expression is wrong at line 1, column 4: ")


def test_a_filter_older_than_the_pull_is_not_used() -> None:
    desk = made()
    beat(desk, "a > 3", 7)
    assert desk.outcome(PULL, pull(version=7)) == RETRY
    late = (ResponseCode.FILTER_DATA_NOT_LATEST, "the consumer's consumer filter data not latest")
    assert refusal(desk, pull(version=8)) == late
    beat(desk, "", 9)
    assert refusal(desk, pull(version=9)) == late


def test_where_filters_are_off_all_of_them_are_refused_as_apache_does() -> None:
    desk = made(has_property_filters=False)
    off = (ResponseCode.SYSTEM_ERROR, UNSUPPORTED)
    assert refusal(desk, brought("a > 3")) == off
    assert refusal(desk, brought("a >")) == off
    assert refusal(desk, brought(""))[0] == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    beat(desk, "a > 3")
    assert refusal(desk, pull()) == off
    beat(desk, "a >", 8)
    assert refusal(desk, pull(version=8))[0] == ResponseCode.FILTER_DATA_NOT_EXIST
    assert checked(desk, "a > 3") == Answer(*off)


def checked(desk: Desk, expression: str, kind: str = "SQL92") -> Answer:
    """The answer to a client that asks before it subscribes."""
    subscription = {"topic": "orders", "expressionType": kind, "subString": expression}
    return desk.ask(CHECK, body=json.dumps({"group": "billing", "subscriptionData": subscription}).encode())


@pytest.mark.parametrize(
    ("expression", "place"), [("a >", "line 1, column 4"), ("", "line 1, column 1"), ("a\n\n!= 1", "line 3, column 1")]
)
def test_a_client_that_asks_is_told_the_place(expression: str, place: str) -> None:
    answer = checked(made(), expression)
    assert answer.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert answer.remark is not None
    assert answer.remark.startswith(f"the filter expression is wrong at {place}: ")
