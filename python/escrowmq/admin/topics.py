"""Topics: which there are, where they are and what they hold; made, altered and deleted."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from escrowmq._core import Response
from escrowmq.admin import requests
from escrowmq.admin.client import Admin, expect, reading_address, route_question
from escrowmq.errors import Refused
from escrowmq.model import names
from escrowmq.model.route import MASTER_ID, QueueData
from escrowmq.model.topic import Permission, TopicConfig
from escrowmq.protocol.bodies.group_list import decode_group_list
from escrowmq.protocol.bodies.topic_configs import decode_topic
from escrowmq.protocol.bodies.topic_list import decode_topic_list
from escrowmq.protocol.bodies.topic_route import decode_topic_route
from escrowmq.protocol.bodies.topic_stats import decode_topic_stats
from escrowmq.protocol.headers.delete_topic_in_broker import DeleteTopicInBroker
from escrowmq.protocol.headers.delete_topic_in_name_server import DeleteTopicInNameServer
from escrowmq.protocol.headers.get_topic_config import GetTopicConfig
from escrowmq.protocol.headers.get_topic_stats import GetTopicStats
from escrowmq.protocol.headers.query_topic_consume_by_who import QueryTopicConsumeByWho
from escrowmq.protocol.question import Question
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

Kind: TypeAlias = Literal["normal", "retry", "dead letter", "system"]

_LETTERS = {Permission.READ: "r", Permission.WRITE: "w"}


class TopicSummary(Struct, frozen=True, kw_only=True):
    """A topic in a list; queues and permissions are those of all its brokers together."""

    topic: str
    kind: Kind
    read_queues: int
    write_queues: int
    permission: str
    brokers: list[str]


class TopicPlace(Struct, frozen=True, kw_only=True):
    """A topic on one broker."""

    cluster: str
    broker: str
    address: str
    read_queues: int
    write_queues: int
    permission: str


class TopicSettings(Struct, frozen=True, kw_only=True):
    """A topic as its broker has it."""

    topic: str
    broker: str
    read_queues: int
    write_queues: int
    permission: str
    is_ordered: bool
    attributes: dict[str, str]


class QueueState(Struct, frozen=True, kw_only=True):
    """What a queue holds: from its first offset to the one before its end."""

    broker: str
    queue_id: int
    min_offset: int
    max_offset: int
    messages: int
    last_stored_at_ms: int | None


class TopicDetails(Struct, frozen=True, kw_only=True):
    """All about a topic."""

    topic: str
    kind: Kind
    is_ordered: bool
    attributes: dict[str, str]
    groups: list[str]
    places: list[TopicPlace]
    queues: list[QueueState]


def list_topics(admin: Admin) -> list[TopicSummary]:
    """All topics that the name server knows."""
    found = sorted(_listed(admin, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER))
    system = set(_listed(admin, RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS))
    name_server = admin.name_servers[0]
    outcomes = admin.ask_all((name_server, route_question(topic)) for topic in found)
    return [
        _summary(topic, kind_of(topic, system), decode_topic_route(outcome.body).queues)
        for topic, outcome in zip(found, outcomes, strict=True)
        # One that is deleted meanwhile has no route any more.
        if isinstance(outcome, Response)
    ]


def show_topic(admin: Admin, topic: str) -> TopicDetails:
    """All about a topic.

    Raises:
        NotThere: There is none.
    """
    route = admin.route(topic)
    addresses = {broker.name: reading_address(broker) for broker in route.brokers}
    clusters = {broker.name: broker.cluster for broker in route.brokers}
    configs = find_topic(admin, topic, addresses)
    system = set(_listed(admin, RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS))
    return TopicDetails(
        topic=topic,
        kind=kind_of(topic, system),
        is_ordered=any(config.is_ordered for config in configs.values()),
        attributes={name: value for config in configs.values() for name, value in sorted(config.attributes.items())},
        groups=_groups(admin, topic, addresses),
        places=[
            TopicPlace(
                cluster=clusters[queues.broker_name],
                broker=queues.broker_name,
                address=addresses[queues.broker_name],
                read_queues=queues.read_queues,
                write_queues=queues.write_queues,
                permission=permission_text(queues.permissions),
            )
            for queues in sorted(route.queues, key=lambda queues: queues.broker_name)
        ],
        queues=_queues(admin, topic, addresses),
    )


def find_topic(admin: Admin, topic: str, addresses: Mapping[str, str]) -> dict[str, TopicConfig]:
    """A topic as those brokers know it that have it, by their names."""
    question = Question(RequestCode.GET_TOPIC_CONFIG, GetTopicConfig(topic))
    found = {}
    accepted = (ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST)
    outcomes = admin.ask_all(((address, question) for address in addresses.values()), accepted=accepted)
    for broker, outcome in zip(addresses, outcomes, strict=True):
        answer = expect(outcome)
        if answer.code == ResponseCode.SUCCESS:
            found[broker] = decode_topic(answer.body)
    return found


def settings_of(configs: Mapping[str, TopicConfig]) -> list[TopicSettings]:
    """What `find_topic` found, to be shown."""
    return [
        TopicSettings(
            topic=config.name,
            broker=broker,
            read_queues=config.read_queues,
            write_queues=config.write_queues,
            permission=permission_text(config.permissions),
            is_ordered=config.is_ordered,
            attributes=config.attributes,
        )
        for broker, config in sorted(configs.items())
    ]


def put_topic(admin: Admin, topic: TopicConfig, addresses: Mapping[str, str]) -> None:
    """Makes a topic on brokers, or alters it there.

    Raises:
        Refused: A broker does not want it.
    """
    for address in addresses.values():
        admin.ask(address, requests.create_topic(topic))


def delete_topic(admin: Admin, topic: str) -> list[str]:
    """Deletes a topic from its brokers and from all name servers; the names of the brokers.

    Raises:
        NotThere: There is none.
        Refused: A broker keeps it.
    """
    masters = {broker.name: broker.addresses[MASTER_ID] for broker in admin.route(topic).brokers if broker.has_master}
    # From the brokers first: one that has it still would bring it back to the name servers.
    for address in masters.values():
        admin.ask(address, Question(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicInBroker(topic)))
    admin.tell_name_servers(Question(RequestCode.DELETE_TOPIC_IN_NAMESRV, DeleteTopicInNameServer(topic)))
    return sorted(masters)


def kind_of(topic: str, system: set[str]) -> Kind:
    """What a topic is for; `system` are those that the name server calls so."""
    if topic.startswith(names.RETRY_PREFIX):
        return "retry"
    if topic.startswith(names.DEAD_LETTER_PREFIX):
        return "dead letter"
    if topic in names.SYSTEM_TOPICS | system or topic.lower().startswith(names.SYSTEM_PREFIX):
        return "system"
    # What answers to requests is sent to has the name of its cluster in its own.
    return "system" if topic.removesuffix("_REPLY_TOPIC") in system else "normal"


def permission_text(permissions: int) -> str:
    """What clients may do: `rw`, `r`, `w` or nothing."""
    return "".join(letter for bit, letter in _LETTERS.items() if permissions & bit)


def _listed(admin: Admin, code: RequestCode) -> list[str]:
    return decode_topic_list(admin.ask_name_server(Question(code)).body)


def _summary(topic: str, kind: Kind, queues: list[QueueData]) -> TopicSummary:
    permissions = 0
    for data in queues:
        permissions |= data.permissions
    return TopicSummary(
        topic=topic,
        kind=kind,
        read_queues=sum(data.read_queues for data in queues),
        write_queues=sum(data.write_queues for data in queues),
        permission=permission_text(permissions),
        brokers=sorted(data.broker_name for data in queues),
    )


def _queues(admin: Admin, topic: str, addresses: Mapping[str, str]) -> list[QueueState]:
    question = Question(RequestCode.GET_TOPIC_STATS_INFO, GetTopicStats(topic))
    outcomes = admin.ask_all((address, question) for address in addresses.values())
    states = [
        QueueState(
            broker=queue.broker_name,
            queue_id=queue.queue_id,
            min_offset=offsets.min_offset,
            max_offset=offsets.max_offset,
            messages=offsets.max_offset - offsets.min_offset,
            last_stored_at_ms=offsets.last_stored_at_ms if offsets.last_stored_at_ms > 0 else None,
        )
        for outcome in outcomes
        for queue, offsets in decode_topic_stats(expect(outcome).body).items()
    ]
    return sorted(states, key=lambda state: (state.broker, state.queue_id))


def _groups(admin: Admin, topic: str, addresses: Mapping[str, str]) -> list[str]:
    """The groups that read a topic, or have read of it."""
    question = Question(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, QueryTopicConsumeByWho(topic))
    groups: set[str] = set()
    for outcome in admin.ask_all((address, question) for address in addresses.values()):
        # Apache's broker refuses where nobody has read of it.
        if not isinstance(outcome, Refused):
            groups.update(decode_group_list(expect(outcome).body))
    return sorted(groups)
