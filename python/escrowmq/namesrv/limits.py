"""How much peers may make the name server hold. Everything that lasts passes here first: frames are bounded by net."""

from collections.abc import Iterable
from typing import Final

from escrowmq.errors import BadHeader
from escrowmq.namesrv.registration import Registration
from escrowmq.namesrv.route_table import RouteTable

NAME_SIZE_MAX: Final = 1_024
BROKERS_MAX: Final = 10_000
TOPIC_QUEUES_MAX: Final = 500_000
"""Pairs of a topic and a broker name: 500 topics on 1,000 brokers, or 100,000 topics on five."""
FILTER_SERVERS_MAX: Final = 128


def check_names(**names: str | None) -> None:
    """Refuses names that are too long to be names.

    Raises:
        BadHeader: One is.
    """
    for field, name in names.items():
        if name is not None and len(name) > NAME_SIZE_MAX:
            raise BadHeader(f"{field} has {len(name)} characters, the most are {NAME_SIZE_MAX}", field=field)


def check_registration(routes: RouteTable, new: Registration) -> None:
    """Refuses a registration that has no name, or that would be too much.

    Raises:
        BadHeader: It is.
    """
    named = {"brokerName": new.broker_name, "brokerAddr": new.address, "clusterName": new.cluster}
    for field, name in named.items():
        if not name:
            raise BadHeader(f"{field} is empty", field=field)
    check_names(**named, haServerAddr=new.ha_address, zone=new.zone)
    if new.address not in routes.live and len(routes.live) >= BROKERS_MAX:
        raise BadHeader(f"{BROKERS_MAX} brokers are registered, and no more can be", field="brokerAddr")
    _check_count("filterServerList", new.filter_servers or (), FILTER_SERVERS_MAX)
    _check_topics(routes, new.broker_name, [topic.name for topic in new.topics.values()])
    _check_count("topicQueueMappingInfoMap", new.queue_mappings, TOPIC_QUEUES_MAX)


def check_topic(routes: RouteTable, topic: str, broker_names: Iterable[str]) -> None:
    """Refuses queues of a topic that would be too much.

    Raises:
        BadHeader: They would.
    """
    for broker_name in broker_names:
        _check_topics(routes, broker_name, [topic])


def _check_topics(routes: RouteTable, broker_name: str, topics: list[str]) -> None:
    check_names(topic=max(topics, key=len, default=None))
    added = sum(broker_name not in routes.topics.get(topic, ()) for topic in topics)
    if added and added + sum(map(len, routes.topics.values())) > TOPIC_QUEUES_MAX:
        raise BadHeader(f"{TOPIC_QUEUES_MAX} topics of brokers are registered, and no more can be", field="topic")


def _check_count(field: str, values: Iterable[object], count_max: int) -> None:
    count = sum(1 for _ in values)
    if count > count_max:
        raise BadHeader(f"{field} has {count} entries, the most are {count_max}", field=field)
