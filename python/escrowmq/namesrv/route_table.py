"""The five tables: topics, brokers by name, clusters, brokers that are alive, filter servers.

Knows no sockets, frames or clock. Between calls this holds:

- an address belongs to one broker name and id, and is alive: nothing is listed that nothing could remove;
- a broker name has at least one address, a cluster at least one name, a topic the queues of at least one broker;
- `clusters` lists a name exactly where `brokers` says that it belongs.
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from msgspec import structs

from escrowmq.model.data_version import DataVersion
from escrowmq.model.route import MASTER_ID, BrokerData, QueueData, QueueMapping, TopicRouteData
from escrowmq.model.topic import Permission, TopicConfig
from escrowmq.namesrv.registration import LiveBroker, Registered, Registration

_ONE_TOPIC: Final = 1
_PermissionChange: TypeAlias = Callable[[int], int]


class RouteTable:
    """Who has which topics, as far as brokers said."""

    def __init__(self, *, broker_timeout_ms: int = 120_000) -> None:
        self._broker_timeout_ms = broker_timeout_ms
        self.topics: dict[str, dict[str, QueueData]] = {}
        self.brokers: dict[str, BrokerData] = {}
        self.clusters: dict[str, set[str]] = {}
        self.live: dict[str, LiveBroker] = {}
        self.filter_servers: dict[str, list[str]] = {}
        self._queue_mappings: dict[str, dict[str, QueueMapping]] = {}

    # --- brokers ------------------------------------------------------------------------------------------------------

    def register(self, new: Registration, *, now_ms: int, deletes_missing_topics: bool = False) -> Registered | None:
        """Takes in what a broker says.

        A broker says all at first and single topics later, so one topic from an unknown broker is refused with None:
        the broker then says all. A registration that another broker of the same name and id outranks by the state
        version of its data changes nothing.
        """
        known = self.brokers.get(new.broker_name)
        rival = self._rival_of(new, known)
        if rival is not None and rival.data_version.state_version > new.data_version.state_version:
            self._remove(new.address)
            return Registered()
        is_first = known is None or known.addresses.get(new.broker_id) is None
        if len(new.topics) == _ONE_TOPIC and (is_first or self._is_elsewhere(new)):
            return None

        self._clear_seat(new, rival)
        known = self._seat(new)
        is_changed = is_first or self.is_changed(new.cluster, new.address, new.data_version)
        # Only a master's topics count, or those of the slave that would stand in for it.
        is_first_slave = new.may_act_as_master is not None and new.broker_id == min(known.addresses)
        if new.is_master or is_first_slave:
            if deletes_missing_topics and len(new.topics) > _ONE_TOPIC and not new.queue_mappings:
                self._remove_queues(new.broker_name, keep=new.topics)
            self._take_topics(new, is_changed=is_changed, is_stand_in=not new.is_master and known.may_act_as_master)
        self._mark_alive(new, now_ms)
        return self._master_of(new, known)

    def unregister(self, *, cluster: str, broker_name: str, address: str) -> bool:
        """Removes a broker, and topics that nobody else has. Nothing happens unless all three agree with the tables."""
        live = self.live.get(address)
        if live is None or (live.cluster, live.broker_name) != (cluster, broker_name):
            return False
        self._remove(address)
        return True

    def drop_connection(self, connection: int) -> list[LiveBroker]:
        """Removes the brokers that registered by a connection, and returns them."""
        return self._drop([live for live in self.live.values() if live.connection == connection])

    def drop_overdue(self, now_ms: int) -> list[LiveBroker]:
        """Removes the brokers that were silent for too long, and returns them."""
        return self._drop([live for live in self.live.values() if live.is_overdue(now_ms)])

    def touch(self, cluster: str, address: str, *, now_ms: int) -> None:
        """Notes that a broker is alive."""
        live = self.live.get(address)
        if live is not None and live.cluster == cluster:
            self.live[address] = structs.replace(live, seen_at_ms=now_ms)

    def data_version(self, cluster: str, address: str) -> DataVersion | None:
        """The version of the topics that a broker registered last."""
        live = self.live.get(address)
        return live.data_version if live is not None and live.cluster == cluster else None

    def is_changed(self, cluster: str, address: str, data_version: DataVersion | None) -> bool:
        """Whether a broker has other topics now than it registered."""
        registered = self.data_version(cluster, address)
        return registered is None or registered != data_version

    # --- topics -------------------------------------------------------------------------------------------------------

    def register_topic(self, topic: str, queues: list[QueueData]) -> bool:
        """Adds queues of a topic, all of them or, if a broker is unknown, none."""
        if not queues or any(queue.broker_name not in self.brokers for queue in queues):
            return False
        self.topics.setdefault(topic, {}).update({queue.broker_name: queue for queue in queues})
        return True

    def delete_topic(self, topic: str, *, cluster: str | None = None) -> None:
        """Forgets a topic, everywhere or in one cluster."""
        queues = self.topics.get(topic, {})
        names = list(queues) if cluster is None else self.clusters.get(cluster, set())
        for name in names:
            queues.pop(name, None)
        self._drop_topic_without_queues(topic)

    def wipe_write_permission(self, broker_name: str) -> int:
        """Takes the permission to write from every topic of a broker, and returns how many there are."""
        return self._set_permissions(broker_name, lambda permissions: permissions & ~Permission.WRITE)

    def add_write_permission(self, broker_name: str) -> int:
        """Lets clients read and write every topic of a broker, and returns how many there are.

        Compat: other permissions are lost, as with RocketMQ.
        """
        return self._set_permissions(broker_name, lambda _: Permission.READ | Permission.WRITE)

    def route(self, topic: str) -> TopicRouteData | None:
        """The way to a topic, as registered."""
        queues = self.topics.get(topic)
        if not queues:
            return None
        brokers = [self.brokers[name] for name in queues]
        addresses = [address for broker in brokers for address in broker.addresses.values()]
        return TopicRouteData(
            brokers=brokers,
            filter_servers={
                address: self.filter_servers[address] for address in addresses if address in self.filter_servers
            },
            queues=list(queues.values()),
            queue_mappings=self._queue_mappings.get(topic),
        )

    # --- within -------------------------------------------------------------------------------------------------------

    def _rival_of(self, new: Registration, known: BrokerData | None) -> LiveBroker | None:
        """Another broker that has the seat: the same name and id, at another address."""
        address = known.addresses.get(new.broker_id) if known is not None else None
        return self.live[address] if address is not None and address != new.address else None

    def _is_elsewhere(self, new: Registration) -> bool:
        """Whether the address is listed under another name, cluster or id: a slave that becomes the master, say."""
        live = self.live.get(new.address)
        return live is not None and (live.cluster, live.broker_name, live.broker_id) != (
            new.cluster,
            new.broker_name,
            new.broker_id,
        )

    def _clear_seat(self, new: Registration, rival: LiveBroker | None) -> None:
        """Takes the rival out, and the address from where it was; queues of the name stay for who is seated next."""
        if rival is not None:
            self._forget_address(rival.address)
        if self._is_elsewhere(new):
            if self.live[new.address].broker_name == new.broker_name:
                self._forget_address(new.address)
            else:
                self._remove(new.address)

    def _seat(self, new: Registration) -> BrokerData:
        known = self.brokers.get(new.broker_name)
        addresses = {**(known.addresses if known is not None else {}), new.broker_id: new.address}
        seated = BrokerData(
            addresses=dict(sorted(addresses.items())),
            name=new.broker_name,
            cluster=new.cluster,
            may_act_as_master=bool(new.may_act_as_master),
            zone=new.zone,
        )
        if known is not None and known.cluster != new.cluster:
            self._leave_cluster(known)
        self.brokers[new.broker_name] = seated
        self.clusters.setdefault(new.cluster, set()).add(new.broker_name)
        return seated

    def _take_topics(self, new: Registration, *, is_changed: bool, is_stand_in: bool) -> None:
        for topic in new.topics.values():
            if is_changed or new.broker_name not in self.topics.get(topic.name, {}):
                queues = _queues_of(topic, new.broker_name, is_read_only=is_stand_in)
                self.topics.setdefault(topic.name, {})[new.broker_name] = queues
        if is_changed:
            for topic_name, mapping in new.queue_mappings.items():
                if topic_name in self.topics:
                    self._queue_mappings.setdefault(topic_name, {})[mapping.broker_name] = mapping

    def _mark_alive(self, new: Registration, now_ms: int) -> None:
        self.live[new.address] = LiveBroker(
            cluster=new.cluster,
            broker_name=new.broker_name,
            broker_id=new.broker_id,
            address=new.address,
            ha_address=new.ha_address,
            connection=new.connection,
            data_version=new.data_version,
            timeout_ms=self._broker_timeout_ms if new.timeout_ms is None else new.timeout_ms,
            seen_at_ms=now_ms,
        )
        if new.filter_servers:
            self.filter_servers[new.address] = new.filter_servers
        elif new.filter_servers is not None:
            self.filter_servers.pop(new.address, None)

    def _master_of(self, new: Registration, known: BrokerData) -> Registered:
        if new.is_master or not known.has_master:
            return Registered()
        master = self.live[known.addresses[MASTER_ID]]
        return Registered(ha_address=master.ha_address, master_address=master.address)

    def _drop(self, gone: list[LiveBroker]) -> list[LiveBroker]:
        for live in gone:
            self._remove(live.address)
        return gone

    def _remove(self, address: str) -> None:
        live = self.live.get(address)
        if live is None:
            return
        self._forget_address(address)
        known = self.brokers.get(live.broker_name)
        if known is None:
            self._remove_queues(live.broker_name, keep={})
        elif known.may_act_as_master and not known.has_master:
            # The slaves that are left can be read; who would write to them would lose it.
            self.wipe_write_permission(live.broker_name)

    def _forget_address(self, address: str) -> None:
        """Takes an address out of its seat; the queues of its broker stay for whoever takes the seat."""
        live = self.live.pop(address)
        self.filter_servers.pop(address, None)
        known = self.brokers[live.broker_name]
        addresses = {broker_id: where for broker_id, where in known.addresses.items() if where != address}
        if addresses:
            self.brokers[live.broker_name] = structs.replace(known, addresses=addresses)
        else:
            del self.brokers[live.broker_name]
            self._leave_cluster(known)

    def _leave_cluster(self, broker: BrokerData) -> None:
        names = self.clusters[broker.cluster]
        names.discard(broker.name)
        if not names:
            del self.clusters[broker.cluster]

    def _remove_queues(self, broker_name: str, *, keep: dict[str, TopicConfig]) -> None:
        for topic in list(self._topics_of(broker_name)):
            if topic not in keep:
                del self.topics[topic][broker_name]
                self._drop_topic_without_queues(topic)

    def _drop_topic_without_queues(self, topic: str) -> None:
        if not self.topics.get(topic):
            self.topics.pop(topic, None)
            self._queue_mappings.pop(topic, None)

    def _set_permissions(self, broker_name: str, change: _PermissionChange) -> int:
        count = 0
        for topic in self._topics_of(broker_name):
            queues = self.topics[topic]
            before = queues[broker_name]
            queues[broker_name] = structs.replace(before, permissions=int(change(before.permissions)))
            count += 1
        return count

    def _topics_of(self, broker_name: str) -> Iterator[str]:
        return (topic for topic, queues in self.topics.items() if broker_name in queues)


def _queues_of(topic: TopicConfig, broker_name: str, *, is_read_only: bool) -> QueueData:
    return QueueData(
        broker_name=broker_name,
        permissions=topic.permissions & ~Permission.WRITE if is_read_only else topic.permissions,
        read_queues=topic.read_queues,
        system_flag=topic.system_flag,
        write_queues=topic.write_queues,
    )
