"""Requests about topics: where they are, which there are, which are to be forgotten."""

from collections.abc import Callable, Iterable
from typing import Final

from msgspec import structs

from escrowmq.model.route import QueueData
from escrowmq.model.topic import TopicSystemFlag
from escrowmq.namesrv import route_view
from escrowmq.namesrv.context import Context
from escrowmq.namesrv.kv_config import ORDER_TOPICS
from escrowmq.namesrv.limits import check_names, check_topic
from escrowmq.protocol.bodies.topic_list import TopicList
from escrowmq.protocol.bodies.topic_route import decode_topic_route, encode_topic_route
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.delete_topic_in_name_server import DeleteTopicInNameServer
from escrowmq.protocol.headers.get_route_info import GetRouteInfo
from escrowmq.protocol.headers.get_topics_by_cluster import GetTopicsByCluster
from escrowmq.protocol.headers.register_topic import RegisterTopic
from escrowmq.protocol.messages import Answer, Request
from escrowmq.protocol.response_codes import ResponseCode

_HELP: Final = "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
_DISABLED: Final = Answer(ResponseCode.SYSTEM_ERROR, "disable")


def route(context: Context, request: Request) -> Answer:
    """GET_ROUTEINFO_BY_TOPIC: where the queues of a topic are."""
    header = decode_header(GetRouteInfo, request.ext_fields)
    check_names(topic=header.topic)
    if not context.is_ready:
        return Answer(ResponseCode.SYSTEM_ERROR, "name server not ready")
    found = context.routes.route(header.topic)
    if found is None:
        remark = f"No topic route info in name server for the topic: {header.topic}\n{_HELP}"
        return Answer(ResponseCode.TOPIC_NOT_EXIST, remark)
    if context.config.shows_acting_masters:
        found = route_view.with_acting_masters(header.topic, found)
    if context.config.shows_order_topics:
        found = structs.replace(found, order_config=context.kv_config.get(ORDER_TOPICS, header.topic))
    if header.wants_zone:
        found = route_view.of_zone(header.zone, found)
    strict_only = header.accepts_strict_json_only
    return Answer(body=encode_topic_route(found, version=request.version, accepts_strict_json_only=strict_only))


def all_topics(context: Context, _: Request) -> Answer:
    """GET_ALL_TOPIC_LIST_FROM_NAMESERVER: every topic."""
    return _listed(context.routes.topics) if context.config.lists_all_topics else _DISABLED


def topics_by_cluster(context: Context, request: Request) -> Answer:
    """GET_TOPICS_BY_CLUSTER: the topics of a cluster's brokers."""
    if not context.config.lists_topics:
        return _DISABLED
    header = decode_header(GetTopicsByCluster, request.ext_fields)
    names = context.routes.clusters.get(header.cluster, set())
    return _listed(topic for topic, queues in context.routes.topics.items() if not names.isdisjoint(queues))


def system_topics(context: Context, _: Request) -> Answer:
    """GET_SYSTEM_TOPIC_LIST_FROM_NS: clusters and brokers, which are topics too, and a broker to ask for more."""
    routes = context.routes
    names = {*routes.clusters, *routes.brokers}
    addresses = (address for broker in routes.brokers.values() for address in broker.addresses.values())
    return Answer(body=TopicList(sorted(names), next(addresses, None)).encode())


def unit_topics(context: Context, _: Request) -> Answer:
    """GET_UNIT_TOPIC_LIST: topics that belong to a unit."""
    return _listed_by_flag(context, lambda flag: bool(flag & TopicSystemFlag.UNIT))


def unit_subscription_topics(context: Context, _: Request) -> Answer:
    """GET_HAS_UNIT_SUB_TOPIC_LIST: topics that units subscribe to."""
    return _listed_by_flag(context, lambda flag: bool(flag & TopicSystemFlag.UNIT_SUBSCRIPTION))


def unit_subscription_only_topics(context: Context, _: Request) -> Answer:
    """GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: topics that units subscribe to and that belong to none."""
    both = TopicSystemFlag.UNIT | TopicSystemFlag.UNIT_SUBSCRIPTION
    return _listed_by_flag(context, lambda flag: flag & both == TopicSystemFlag.UNIT_SUBSCRIPTION)


def delete(context: Context, request: Request) -> Answer:
    """DELETE_TOPIC_IN_NAMESRV: forgets a topic; brokers that have it still bring it back."""
    header = decode_header(DeleteTopicInNameServer, request.ext_fields)
    context.routes.delete_topic(header.topic, cluster=header.cluster or None)
    return Answer()


def register(context: Context, request: Request) -> Answer:
    """REGISTER_TOPIC_IN_NAMESRV: adds queues of a topic on brokers that are known."""
    header = decode_header(RegisterTopic, request.ext_fields)
    if request.body:
        queues = decode_topic_route(request.body).queues
        check_topic(context.routes, header.topic, [queue.broker_name for queue in queues])
        context.routes.register_topic(header.topic, queues)
    return Answer()


def _listed(topics: Iterable[str]) -> Answer:
    return Answer(body=TopicList(list(topics)).encode())


def _listed_by_flag(context: Context, is_wanted: Callable[[int], bool]) -> Answer:
    if not context.config.lists_topics:
        return _DISABLED
    return _listed(topic for topic, queues in context.routes.topics.items() if is_wanted(_flag_of(queues)))


def _flag_of(queues: dict[str, QueueData]) -> int:
    """Compat: brokers should agree about a topic's flag; where they do not, one of them decides."""
    return next(iter(queues.values())).system_flag
