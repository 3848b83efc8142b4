"""Requests of clients about themselves, and of operators about clients."""

from collections.abc import Iterable, Iterator
from typing import Final

from escrowmq.broker.client_registry import Client
from escrowmq.broker.context import Context
from escrowmq.broker.handlers.filters import refuse_expression, refuse_type
from escrowmq.broker.ports import ClientRequest
from escrowmq.model.subscription import SubscriptionGroup
from escrowmq.model.topic import TopicConfig, TopicSystemFlag
from escrowmq.protocol.bodies.check_client import decode_check_client
from escrowmq.protocol.bodies.connections import Connection, ConsumerConnections, ProducerConnections
from escrowmq.protocol.bodies.consumer_list import encode_consumer_list
from escrowmq.protocol.bodies.heartbeat import ConsumerData, Heartbeat, decode_heartbeat
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.get_consumer_connections import GetConsumerConnections
from escrowmq.protocol.headers.get_consumer_list import GetConsumerList
from escrowmq.protocol.headers.get_producer_connections import GetProducerConnections
from escrowmq.protocol.headers.unregister_client import UnregisterClient
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode

_SUPPORTS_SECOND_KIND: Final = "IS_SUPPORT_HEART_BEAT_V2"
_IS_CHANGED: Final = "IS_SUB_CHANGE"


def heartbeat(context: Context, request: ClientRequest) -> Answer:
    """HEART_BEAT: a client is there, with these producers and consumers."""
    beat = decode_heartbeat(request.body)
    client = Client(request.connection, beat.client_id, request.peer, request.language, request.version)
    # Compat: to a heartbeat of the first kind RocketMQ always says that something has changed.
    is_changed = beat.fingerprint == 0
    for data in beat.consumers:
        group = context.groups.find_or_create(data.group)
        if group is not None:
            is_changed |= _has_other_fingerprint(context, beat, data)
            _register(context, client, beat, data, group)
            known = context.clients.consumer_group(data.group)
            if known is not None:
                known.fingerprint = beat.fingerprint
    for producer in beat.producers:
        context.clients.register_producer(client, producer.group, now_ms=context.now_ms())
    return Answer(ext_fields={_SUPPORTS_SECOND_KIND: "true", _IS_CHANGED: "true" if is_changed else "false"})


def planned_retry_topics(context: Context, beat: Heartbeat) -> Iterator[TopicConfig]:
    """The retry topics that a heartbeat makes, of those of its groups that are there."""
    for data in beat.consumers:
        group = context.groups.find(data.group)
        if group is not None:
            yield _retry_topic(context, data, group)


def unregister(context: Context, request: ClientRequest) -> Answer:
    """UNREGISTER_CLIENT: a producer or a consumer stops."""
    header = decode_header(UnregisterClient, request.ext_fields)
    if header.producer_group is not None:
        context.clients.unregister_producer(request.connection, header.producer_group)
    if header.consumer_group is not None:
        was_member = context.clients.unregister_consumer(request.connection, header.consumer_group)
        group = context.groups.find(header.consumer_group)
        if was_member and (group is None or group.notifies_members):
            context.groups_to_tell.add(header.consumer_group)
        context.bury_filters(header.consumer_group)
    return Answer()


def check(context: Context, request: ClientRequest) -> Answer:
    """CHECK_CLIENT_CONFIG: whether a subscription would work."""
    subscription = decode_check_client(request.body).subscription
    if subscription is None or subscription.is_by_tag:
        return Answer()
    refusal = refuse_type(context, subscription.expression_type)
    return refusal or refuse_expression(subscription.expression_type, subscription.expression) or Answer()


def consumer_list(context: Context, request: ClientRequest) -> Answer:
    """GET_CONSUMER_LIST_BY_GROUP: the members of a group, among whom they divide the queues."""
    header = decode_header(GetConsumerList, request.ext_fields)
    group = context.clients.consumer_group(header.group)
    if group is None:
        return Answer(ResponseCode.SYSTEM_ERROR, f"no consumer for this group, {header.group}")
    return Answer(body=encode_consumer_list([client.client_id for client in group.members.values()]))


def consumer_connections(context: Context, request: ClientRequest) -> Answer:
    """GET_CONSUMER_CONNECTION_LIST: the members of a group, and what they subscribe to."""
    header = decode_header(GetConsumerConnections, request.ext_fields)
    group = context.clients.consumer_group(header.group)
    if group is None:
        return Answer(ResponseCode.CONSUMER_NOT_ONLINE, f"the consumer group[{header.group}] not online")
    return Answer(
        body=ConsumerConnections(
            connections=_connections(group.members.values()),
            consume_from_where=group.consume_from_where,
            consume_type=group.consume_type,
            message_model=group.message_model,
            subscriptions=group.subscriptions,
        ).encode()
    )


def producer_connections(context: Context, request: ClientRequest) -> Answer:
    """GET_PRODUCER_CONNECTION_LIST: the producers of a group."""
    header = decode_header(GetProducerConnections, request.ext_fields)
    producers = context.clients.producers(header.group)
    if producers is None:
        return Answer(ResponseCode.SYSTEM_ERROR, f"the producer group[{header.group}] not exist")
    return Answer(body=ProducerConnections(_connections(producers)).encode())


def _register(context: Context, client: Client, beat: Heartbeat, data: ConsumerData, group: SubscriptionGroup) -> None:
    context.topics.create([_retry_topic(context, data, group)])
    has_subscriptions = beat.fingerprint == 0 or not beat.is_without_subscriptions
    is_changed = context.clients.register_consumer(
        client, data, now_ms=context.now_ms(), has_subscriptions=has_subscriptions
    )
    if has_subscriptions:
        context.filters.register(data.group, data.subscriptions)
    if is_changed and group.notifies_members:
        context.groups_to_tell.add(data.group)


def _retry_topic(context: Context, data: ConsumerData, group: SubscriptionGroup) -> TopicConfig:
    subscribed = (context.topics.find(subscription.topic) for subscription in data.subscriptions)
    return context.topics.plan_retry(
        data.group,
        queues=group.retry_queues,
        is_ordered=any(topic is not None and topic.is_ordered for topic in subscribed),
        system_flag=TopicSystemFlag.UNIT_SUBSCRIPTION if data.is_unit_mode else 0,
    )


def _has_other_fingerprint(context: Context, beat: Heartbeat, data: ConsumerData) -> bool:
    """Whether a client of the second kind has to say its subscriptions again."""
    known = context.clients.consumer_group(data.group)
    if known is None:
        # Nothing is known of the group, so a client that leaves its subscriptions out has to say them.
        return beat.is_without_subscriptions
    return known.fingerprint not in (0, beat.fingerprint)


def _connections(clients: Iterable[Client]) -> list[Connection]:
    return [Connection(client.address, client.client_id, client.language, client.version) for client in clients]
