"""Who is connected: the consumers and producers of each group, and what the consumers subscribe to.

Pure bookkeeping: a method says which groups have to be told, and somebody else tells them. A member is a connection;
its client id is what other members see.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct, field

from escrowmq.model.subscription import BROADCASTING, Subscription
from escrowmq.protocol.bodies.heartbeat import CONSUMERS_MAX, ConsumerData

EXPIRY_MS: Final = 120_000
PRODUCER_GROUPS_MAX: Final = 1_024
"""Of one connection; further ones are not noted."""
CONSUMER_GROUPS_MAX: Final = CONSUMERS_MAX
"""Of one connection, as of one heartbeat; further ones are not noted."""


class Client(Struct, frozen=True):
    """A client on one connection."""

    connection: int
    client_id: str
    address: str
    language: str
    version: int


class ConsumerGroup(Struct):
    """The consumers of one group that are connected. What the last heartbeat said of the group holds for all."""

    name: str
    consume_type: str = "CONSUME_PASSIVELY"
    message_model: str = "CLUSTERING"
    consume_from_where: str = "CONSUME_FROM_LAST_OFFSET"
    fingerprint: int = 0
    members: dict[int, Client] = field(default_factory=dict)
    subscriptions: dict[str, Subscription] = field(default_factory=dict)

    @property
    def is_broadcasting(self) -> bool:
        """Whether every member gets every message, so that nobody has to know of the others."""
        return self.message_model == BROADCASTING


class ClientRegistry:
    """Groups of consumers and producers.

    `subscriptions_version` counts changes of what consumers subscribe to, so that whoever mirrors it knows when to look
    again. A client is gone after `expiry_ms` without a heartbeat.
    """

    def __init__(self, *, expiry_ms: int = EXPIRY_MS) -> None:
        self.expiry_ms = expiry_ms
        self._consumers: dict[str, ConsumerGroup] = {}
        self._producers: dict[str, dict[int, Client]] = {}
        self._producers_by_id: dict[str, Client] = {}
        # Connections of every group, so that a closed connection costs its own groups only.
        self._groups_of: dict[int, set[str]] = {}
        self._producer_groups_of: dict[int, set[str]] = {}
        self._last_seen_ms: dict[int, int] = {}
        self.subscriptions_version = 0

    @property
    def consumer_groups(self) -> Mapping[str, ConsumerGroup]:
        """The consumer groups that have a member."""
        return self._consumers

    def consumer_group(self, name: str) -> ConsumerGroup | None:
        """The consumer group of a name, if it has a member."""
        return self._consumers.get(name)

    def producers(self, group: str) -> list[Client] | None:
        """The producers of a group; None where there never was one."""
        members = self._producers.get(group)
        return None if members is None else list(members.values())

    def find_producer(self, client_id: str) -> Client | None:
        """The producer of an id that was heard of last, if it is still there."""
        return self._producers_by_id.get(client_id)

    def all_producers(self) -> list[Client]:
        """The producers of all groups; one of several groups as often."""
        return [client for members in self._producers.values() for client in members.values()]

    def register_consumer(
        self, client: Client, data: ConsumerData, *, now_ms: int, has_subscriptions: bool = True
    ) -> bool:
        """Notes a consumer's heartbeat; True if its group has to be told: a member or a topic came or went."""
        groups = self._groups_of.setdefault(client.connection, set())
        if data.group not in groups and len(groups) >= CONSUMER_GROUPS_MAX:
            return False
        groups.add(data.group)
        group = self._consumers.setdefault(data.group, ConsumerGroup(data.group))
        group.consume_type = data.consume_type
        if group.message_model != data.message_model:
            group.message_model = data.message_model
            self.subscriptions_version += 1
        group.consume_from_where = data.consume_from_where
        is_new = client.connection not in group.members
        group.members[client.connection] = client
        self._last_seen_ms[client.connection] = now_ms
        has_other_topics = has_subscriptions and self._subscribe(group, data.subscriptions)
        return is_new or has_other_topics

    def register_producer(self, client: Client, group: str, *, now_ms: int) -> None:
        """Notes a producer's heartbeat."""
        groups = self._producer_groups_of.setdefault(client.connection, set())
        if group not in groups and len(groups) >= PRODUCER_GROUPS_MAX:
            return
        groups.add(group)
        self._producers.setdefault(group, {})[client.connection] = client
        self._producers_by_id[client.client_id] = client
        self._last_seen_ms[client.connection] = now_ms

    def unregister_consumer(self, connection: int, group: str) -> bool:
        """Forgets a member of a group; True if there was one."""
        self._groups_of.get(connection, set()).discard(group)
        members = self._consumers[group].members if group in self._consumers else {}
        was_member = members.pop(connection, None) is not None
        if was_member and not members:
            del self._consumers[group]
            self.subscriptions_version += 1
        self._forget_if_unused(connection)
        return was_member

    def unregister_producer(self, connection: int, group: str) -> None:
        """Forgets a producer of a group."""
        self._producer_groups_of.get(connection, set()).discard(group)
        members = self._producers.get(group, {})
        client = members.pop(connection, None)
        if client is not None and not self._producer_groups_of.get(connection):
            self._forget_id(client)
        if not members:
            self._producers.pop(group, None)
        self._forget_if_unused(connection)

    def close(self, connection: int) -> list[str]:
        """Forgets a connection; the consumer groups that lost a member."""
        for group in list(self._producer_groups_of.get(connection, ())):
            self.unregister_producer(connection, group)
        return [
            group
            for group in sorted(self._groups_of.get(connection, ()))
            if self.unregister_consumer(connection, group)
        ]

    def expired(self, *, now_ms: int) -> list[int]:
        """Connections of clients that have not sent a heartbeat for too long; to be closed."""
        return [connection for connection, seen in self._last_seen_ms.items() if now_ms - seen > self.expiry_ms]

    def _subscribe(self, group: ConsumerGroup, subscriptions: Iterable[Subscription]) -> bool:
        wanted = {subscription.topic: subscription for subscription in subscriptions}
        has_other_topics = wanted.keys() != group.subscriptions.keys()
        kept = {}
        for topic, subscription in wanted.items():
            current = group.subscriptions.get(topic)
            # Members of a group may be of different ages; the newest subscription holds.
            is_newer = current is None or subscription.version > current.version
            kept[topic] = subscription if is_newer or current is None else current
        if kept != group.subscriptions:
            group.subscriptions = kept
            self.subscriptions_version += 1
        return has_other_topics

    def _forget_id(self, client: Client) -> None:
        """Forgets the id of a producer, unless it has come back on another connection."""
        if self._producers_by_id.get(client.client_id) == client:
            del self._producers_by_id[client.client_id]

    def _forget_if_unused(self, connection: int) -> None:
        if not self._groups_of.get(connection):
            self._groups_of.pop(connection, None)
        if not self._producer_groups_of.get(connection):
            self._producer_groups_of.pop(connection, None)
        if connection not in self._groups_of and connection not in self._producer_groups_of:
            self._last_seen_ms.pop(connection, None)
