"""What the fast lane is told, and when."""

from tests.unit.broker.desk import Desk, TestFastLane, heartbeat

from escrowmq._core import GroupEntry, SubscriptionEntry, TopicEntry
from escrowmq.broker.snapshot import Snapshots
from escrowmq.model.subscription import SubscriptionGroup
from escrowmq.model.topic import TopicConfig


def snapshots_of(desk: Desk, **more: bool) -> Snapshots:
    context = desk.context
    return Snapshots(context.topics, context.groups, context.clients, context.filters, **more)


def test_the_fast_lane_is_told_what_has_changed_and_nothing_else() -> None:
    desk, lane = Desk(), TestFastLane()
    snapshots = snapshots_of(desk)
    snapshots.publish(lane)
    assert lane.told == ["topics", "groups", "subscriptions"]
    snapshots.publish(lane)
    assert len(lane.told) == 3
    desk.context.topics.create([TopicConfig("orders", 4, 4)])
    snapshots.publish(lane)
    assert lane.told[3:] == ["topics"]
    assert lane.topics["orders"] == TopicEntry(read_queue_count=4, write_queue_count=4, permission=6)
    desk.context.groups.update([SubscriptionGroup(name="closed", may_consume=False)])
    snapshots.publish(lane)
    assert lane.groups["closed"] == GroupEntry(is_consume_enabled=False)


def test_subscriptions_are_told_with_their_codes_and_go_with_the_last_member() -> None:
    desk, lane = Desk(), TestFastLane()
    snapshots = snapshots_of(desk)
    desk.ask(34, body=heartbeat(topics={"orders": (5, 7), "payments": ()}, version=9))
    snapshots.publish(lane)
    assert lane.subscriptions == {
        ("billing", "orders"): SubscriptionEntry(version=9, codes=[5, 7]),
        ("billing", "payments"): SubscriptionEntry(version=9, codes=None),
    }
    desk.context.clients.close(1)
    snapshots.publish(lane)
    assert lane.subscriptions == {}


def test_a_group_that_may_not_broadcast_is_not_served_when_it_does() -> None:
    desk, lane = Desk(), TestFastLane()
    snapshots = snapshots_of(desk)
    desk.context.groups.update([SubscriptionGroup(name="billing", may_broadcast=False)])
    desk.ask(34, body=heartbeat(model="BROADCASTING"))
    snapshots.publish(lane)
    assert lane.subscriptions == {}
    desk.ask(34, body=heartbeat(model="CLUSTERING"))
    snapshots.publish(lane)
    assert list(lane.subscriptions) == [("billing", "orders")]


def test_a_topic_or_a_group_is_taken_from_the_fast_lane_until_the_next_publishing() -> None:
    desk, lane = Desk(), TestFastLane()
    snapshots = snapshots_of(desk)
    desk.context.topics.create([TopicConfig("orders", 4, 4)])
    desk.context.groups.update([SubscriptionGroup(name="billing")])
    with snapshots.without_topic(lane, "orders"):
        assert "orders" not in lane.topics
        assert "TBW102" in lane.topics
        assert "billing" in lane.groups
    snapshots.publish(lane)
    assert "orders" in lane.topics
    with snapshots.without_group(lane, "billing"):
        assert "billing" not in lane.groups
        assert "orders" in lane.topics
    snapshots.publish(lane)
    assert "billing" in lane.groups
