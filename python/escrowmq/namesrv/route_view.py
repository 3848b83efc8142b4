"""A route as one client should see it: pure changes to the route that the tables give."""

from typing import Final

from msgspec import structs

from escrowmq.model.route import MASTER_ID, BrokerData, TopicRouteData
from escrowmq.model.topic import Permission

MEMBER_TOPIC_PREFIX: Final = "rmq_sys_SYNC_BROKER_MEMBER_"
"""Brokers of one name find each other by this topic, so its route shows them as they are."""


def with_acting_masters(topic: str, route: TopicRouteData) -> TopicRouteData:
    """Shows the slave with the lowest id as the master where there is none, so that clients go on reading."""
    if topic.startswith(MEMBER_TOPIC_PREFIX) or all(broker.has_master for broker in route.brokers):
        return route
    read_only = {queue.broker_name for queue in route.queues if not queue.permissions & Permission.WRITE}
    return structs.replace(
        route, brokers=[_promoted(broker) if broker.name in read_only else broker for broker in route.brokers]
    )


def of_zone(zone: str, route: TopicRouteData) -> TopicRouteData:
    """Leaves out the brokers of other zones, except those that lost their master."""
    kept = [broker for broker in route.brokers if not broker.has_master or (broker.zone or "").lower() == zone.lower()]
    names = {broker.name for broker in kept}
    addresses = {address for broker in kept for address in broker.addresses.values()}
    return structs.replace(
        route,
        brokers=kept,
        queues=[queue for queue in route.queues if queue.broker_name in names],
        filter_servers={where: servers for where, servers in route.filter_servers.items() if where in addresses},
    )


def _promoted(broker: BrokerData) -> BrokerData:
    if broker.has_master or not broker.may_act_as_master:
        return broker
    lowest, *others = sorted(broker.addresses)
    addresses = {MASTER_ID: broker.addresses[lowest], **{other: broker.addresses[other] for other in others}}
    return structs.replace(broker, addresses=addresses)
