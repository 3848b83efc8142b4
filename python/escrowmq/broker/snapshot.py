"""What the fast lane is told of topics, groups and subscriptions, whenever they have changed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from escrowmq import _core
from escrowmq.broker.client_registry import ClientRegistry
from escrowmq.broker.consumer_filters import ConsumerFilters
from escrowmq.broker.subscriptions import SubscriptionGroups
from escrowmq.broker.topics import Topics
from escrowmq.model.subscription import Subscription

if TYPE_CHECKING:
    from escrowmq.model.data_version import DataVersion


class FastLane(Protocol):
    """Where snapshots go: `escrowmq._core.BrokerServer`, or a test's own."""

    def set_topics(self, topics: Mapping[str, _core.TopicEntry]) -> None:
        """Replaces what is known of topics."""

    def set_groups(self, groups: Mapping[str, _core.GroupEntry]) -> None:
        """Replaces what is known of groups."""

    def set_subscriptions(self, subscriptions: Mapping[tuple[str, str], _core.SubscriptionEntry]) -> None:
        """Replaces what is known of subscriptions, by group and topic."""


class Snapshots:
    """Mirrors the tables into the fast lane."""

    def __init__(
        self,
        topics: Topics,
        groups: SubscriptionGroups,
        clients: ClientRegistry,
        filters: ConsumerFilters,
        *,
        has_property_filters: bool = True,
    ) -> None:
        self._topics = topics
        self._groups = groups
        self._clients = clients
        self._filters = filters
        self._has_property_filters = has_property_filters
        self._topics_told: DataVersion | None = None
        self._groups_told: DataVersion | None = None
        self._subscriptions_told: tuple[DataVersion, int, int] | None = None
        self._withheld_topic: str | None = None
        self._withheld_group: str | None = None

    def publish(self, fast_lane: FastLane) -> None:
        """Tells the fast lane what has changed since it was told last."""
        if self._topics_told != self._topics.data_version:
            fast_lane.set_topics(self._topic_entries())
            self._topics_told = self._topics.data_version
        if self._groups_told != self._groups.data_version:
            fast_lane.set_groups(self._group_entries())
            self._groups_told = self._groups.data_version
        subscriptions = (self._groups.data_version, self._clients.subscriptions_version, self._filters.version)
        if self._subscriptions_told != subscriptions:
            fast_lane.set_subscriptions(self._subscription_entries())
            self._subscriptions_told = subscriptions

    @contextmanager
    def without_topic(self, fast_lane: FastLane, name: str) -> Iterator[None]:
        """Takes a topic from the fast lane, which leaves requests about it to handlers, until the next publishing.

        Handlers run on the thread that is here, so nobody sends to the topic or commits in it until this ends.
        """
        self._withheld_topic, self._topics_told = name, None
        try:
            self.publish(fast_lane)
            yield
        finally:
            self._withheld_topic, self._topics_told = None, None

    @contextmanager
    def without_group(self, fast_lane: FastLane, name: str) -> Iterator[None]:
        """The same for a group, as which nobody reads or commits meanwhile."""
        self._withheld_group, self._groups_told = name, None
        try:
            self.publish(fast_lane)
            yield
        finally:
            self._withheld_group, self._groups_told = None, None

    def _topic_entries(self) -> dict[str, _core.TopicEntry]:
        return {
            name: _core.TopicEntry(
                read_queue_count=topic.read_queues,
                write_queue_count=topic.write_queues,
                permission=topic.permissions,
                is_ordered=topic.is_ordered,
            )
            for name, topic in self._topics.table.items()
            if name != self._withheld_topic
        }

    def _group_entries(self) -> dict[str, _core.GroupEntry]:
        return {
            name: _core.GroupEntry(is_consume_enabled=group.may_consume)
            for name, group in self._groups.table.items()
            if name != self._withheld_group
        }

    def _subscription_entries(self) -> dict[tuple[str, str], _core.SubscriptionEntry]:
        """What the fast lane may serve: a group that may not broadcast and does is refused by a handler."""
        entries = {}
        for consumers in self._clients.consumer_groups.values():
            group = self._groups.find(consumers.name)
            if group is not None and (group.may_broadcast or not consumers.is_broadcasting):
                for topic, subscription in consumers.subscriptions.items():
                    entries[consumers.name, topic] = self._entry(consumers.name, subscription)
        return entries

    def _entry(self, group: str, subscription: Subscription) -> _core.SubscriptionEntry:
        if subscription.is_by_tag:
            codes = None if subscription.wants_all else subscription.codes
            return _core.SubscriptionEntry(version=subscription.version, codes=codes)
        known = self._filters.find(group, subscription.topic)
        # Without its filter, what becomes of a pull is a handler's to say.
        is_served = self._has_property_filters and known is not None and known.version >= subscription.version
        return _core.SubscriptionEntry(
            version=subscription.version,
            expression_type=subscription.expression_type,
            property_filter=known.filter if known is not None and is_served else None,
        )
