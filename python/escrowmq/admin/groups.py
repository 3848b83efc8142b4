"""Consumer groups: which there are, who is in them, how far they are; made, altered, moved and deleted."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from escrowmq.admin.client import Admin, Outcome, expect
from escrowmq.errors import NotThere
from escrowmq.model import names
from escrowmq.model.message_queue import MessageQueue
from escrowmq.model.place import Place
from escrowmq.model.route import MASTER_ID
from escrowmq.model.subscription import SubscriptionGroup
from escrowmq.protocol.bodies.connections import ConsumerConnections, decode_consumer_connections
from escrowmq.protocol.bodies.consume_stats import QueueProgress, decode_consume_stats
from escrowmq.protocol.bodies.group_configs import decode_group_table, encode_group
from escrowmq.protocol.bodies.queue_offsets import decode_queue_offsets
from escrowmq.protocol.headers.clone_group_offset import CloneGroupOffset
from escrowmq.protocol.headers.delete_group import DeleteGroup
from escrowmq.protocol.headers.get_consume_stats import GetConsumeStats
from escrowmq.protocol.headers.get_consumer_connections import GetConsumerConnections
from escrowmq.protocol.headers.reset_offset import ResetOffset
from escrowmq.protocol.question import Question
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.protocol.versions import version_name

_TIMES: Final[Mapping[str, int]] = {"earliest": 0, "latest": -1}


class GroupSummary(Struct, frozen=True, kw_only=True):
    """A group in a list."""

    group: str
    is_system: bool
    members: int
    topics: list[str]
    lag: int
    brokers: list[str]


class GroupSettings(Struct, frozen=True, kw_only=True):
    """A group as a broker has it."""

    group: str
    broker: str
    may_consume: bool
    may_broadcast: bool
    is_orderly: bool
    retries_max: int
    retry_queues: int


class Member(Struct, frozen=True, kw_only=True):
    """A consumer that is connected to a broker."""

    client_id: str
    address: str
    language: str
    version: str


class Wanted(Struct, frozen=True, kw_only=True):
    """What the members of a group want of a topic."""

    topic: str
    expression_type: str
    expression: str


class QueueLag(Struct, frozen=True, kw_only=True):
    """How far a group is in a queue."""

    topic: str
    broker: str
    queue_id: int
    consumer_offset: int
    broker_offset: int
    lag: int
    in_flight: int
    last_consumed_at_ms: int | None


class GroupDetails(Struct, frozen=True, kw_only=True):
    """All about a group. What only its members know is None while it has none."""

    group: str
    brokers: list[str]
    may_consume: bool
    may_broadcast: bool
    is_orderly: bool
    retries_max: int
    retry_queues: int
    message_model: str | None
    consume_type: str | None
    consume_from_where: str | None
    lag: int
    members: list[Member]
    subscriptions: list[Wanted]
    queues: list[QueueLag]


class Moved(Struct, frozen=True, kw_only=True):
    """A queue in which a group was moved."""

    topic: str
    broker: str
    queue_id: int
    before: int
    after: int


def list_groups(admin: Admin) -> list[GroupSummary]:
    """All groups of all brokers."""
    masters = admin.masters()
    places = [(group, broker) for broker, groups in _tables(admin, masters).items() for group in groups]
    stats = admin.ask_all((masters[broker], _stats_question(group)) for group, broker in places)
    members = admin.ask_all(((masters[broker], _members_question(group)) for group, broker in places), accepted=_ONLINE)
    brokers: dict[str, list[str]] = {}
    lags: dict[str, list[QueueLag]] = {}
    clients: dict[str, set[str]] = {}
    for (group, broker), progress, connected in zip(places, stats, members, strict=True):
        brokers.setdefault(group, []).append(broker)
        lags.setdefault(group, []).extend(_lags(progress))
        online = _connections(connected)
        clients.setdefault(group, set()).update(member.client_id for member in (online.connections if online else ()))
    return [
        GroupSummary(
            group=group,
            is_system=group in names.SYSTEM_GROUPS,
            members=len(clients[group]),
            topics=sorted({lag.topic for lag in lags[group]}),
            lag=sum(lag.lag for lag in lags[group]),
            brokers=sorted(brokers[group]),
        )
        for group in sorted(brokers)
    ]


def show_group(admin: Admin, group: str) -> GroupDetails:
    """All about a group.

    Raises:
        NotThere: No broker has it.
    """
    masters = admin.masters()
    configs = find_group(admin, group, masters)
    if not configs:
        raise not_there(group)
    queues = progress(admin, group, masters)
    online = [
        connections
        for outcome in admin.ask_all(
            ((masters[broker], _members_question(group)) for broker in configs), accepted=_ONLINE
        )
        if (connections := _connections(outcome)) is not None
    ]
    config, first = next(iter(configs.values())), online[0] if online else None
    # A member is connected to every broker of its topics, and is one member all the same.
    members = {member.client_id: member for connections in online for member in connections.connections}
    subscriptions = {topic: wanted for connections in online for topic, wanted in connections.subscriptions.items()}
    return GroupDetails(
        group=group,
        brokers=sorted(configs),
        may_consume=config.may_consume,
        may_broadcast=config.may_broadcast,
        is_orderly=config.is_orderly,
        retries_max=config.retries_max,
        retry_queues=config.retry_queues,
        message_model=first.message_model if first else None,
        consume_type=first.consume_type if first else None,
        consume_from_where=first.consume_from_where if first else None,
        lag=sum(queue.lag for queue in queues),
        members=[
            Member(
                client_id=client_id,
                address=member.address,
                language=member.language,
                version=version_name(member.version),
            )
            for client_id, member in sorted(members.items())
        ],
        subscriptions=[
            Wanted(topic=topic, expression_type=wanted.expression_type, expression=wanted.expression)
            for topic, wanted in sorted(subscriptions.items())
        ],
        queues=queues,
    )


def find_group(admin: Admin, group: str, masters: Mapping[str, str]) -> dict[str, SubscriptionGroup]:
    """A group as those brokers know it that have it, by their names.

    Whole tables are asked for: a broker that is asked for one group makes it where it is not there.
    """
    tables = _tables(admin, masters)
    return {broker: groups[group] for broker, groups in tables.items() if group in groups}


def find_members(admin: Admin, group: str, address: str) -> list[str]:
    """The client ids of the members of a group that are connected to a broker."""
    online = _connections(admin.ask(address, _members_question(group), accepted=_ONLINE))
    return sorted(member.client_id for member in online.connections) if online else []


def settings_of(configs: Mapping[str, SubscriptionGroup]) -> list[GroupSettings]:
    """What `find_group` found, to be shown."""
    return [
        GroupSettings(
            group=config.name,
            broker=broker,
            may_consume=config.may_consume,
            may_broadcast=config.may_broadcast,
            is_orderly=config.is_orderly,
            retries_max=config.retries_max,
            retry_queues=config.retry_queues,
        )
        for broker, config in sorted(configs.items())
    ]


def progress(admin: Admin, group: str, masters: Mapping[str, str], *, topic: str = "") -> list[QueueLag]:
    """How far a group is in the queues of all topics that it has read of, or of one."""
    question = _stats_question(group, topic)
    outcomes = admin.ask_all((address, question) for address in masters.values())
    lags = [lag for outcome in outcomes for lag in _lags(outcome)]
    return sorted(lags, key=lambda lag: (lag.topic, lag.broker, lag.queue_id))


def put_group(admin: Admin, group: SubscriptionGroup, masters: Mapping[str, str]) -> None:
    """Makes a group on brokers, or alters it there.

    Raises:
        Refused: A broker does not want it.
    """
    for address in masters.values():
        admin.ask(address, Question(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=encode_group(group)))


def delete_group(admin: Admin, group: str, *, keeps_offsets: bool) -> list[str]:
    """Deletes a group and, unless they are kept, what it has read; the brokers that had it.

    Raises:
        NotThere: No broker has it.
    """
    masters = admin.masters()
    having = sorted(find_group(admin, group, masters))
    if not having:
        raise not_there(group)
    for broker in having:
        header = DeleteGroup(group, cleans_offsets=not keeps_offsets)
        admin.ask(masters[broker], Question(RequestCode.DELETE_SUBSCRIPTIONGROUP, header))
    return having


def reset_group(admin: Admin, group: str, topic: str, place: Place) -> list[Moved]:
    """Moves a group in all queues of a topic, its members with it.

    Raises:
        NotThere: There is no such topic, or no such group.
        Refused: A broker does not move it.
    """
    brokers = {broker.name: broker.addresses[MASTER_ID] for broker in admin.route(topic).brokers if broker.has_master}
    if not find_group(admin, group, brokers):
        raise not_there(group)
    before = {(lag.broker, lag.queue_id): lag.consumer_offset for lag in progress(admin, group, brokers, topic=topic)}
    header = ResetOffset(topic, group, _TIMES[place] if isinstance(place, str) else place, is_forced=True)
    after: dict[MessageQueue, int] = {}
    for address in brokers.values():
        answer = admin.ask(address, Question(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header))
        after |= decode_queue_offsets(answer.body)
    moved = [
        Moved(
            topic=queue.topic,
            broker=queue.broker_name,
            queue_id=queue.queue_id,
            before=before.get((queue.broker_name, queue.queue_id), 0),
            after=offset,
        )
        for queue, offset in after.items()
    ]
    return sorted(moved, key=lambda queue: (queue.broker, queue.queue_id))


def clone_group(admin: Admin, source: str, destination: str, *, topic: str = "") -> list[QueueLag]:
    """Has a group begin where another one is, in all topics that the other has read of, or in one; how far it is then.

    Raises:
        NotThere: The other has read nothing there.
    """
    masters = admin.masters()
    read = {(lag.broker, lag.topic) for lag in progress(admin, source, masters) if topic in ("", lag.topic)}
    if not read:
        raise NotThere(f"the group {source!r} has read nothing that could be cloned", kind="group", name=source)
    # Compat: Apache's broker clones nothing unless it is told the topic.
    for broker, name in sorted(read):
        header = CloneGroupOffset(source, destination, name, is_offline=True)
        admin.ask(masters[broker], Question(RequestCode.CLONE_GROUP_OFFSET, header))
    return progress(admin, destination, masters, topic=topic)


def not_there(group: str) -> NotThere:
    """No broker has it."""
    return NotThere(f"there is no group {group!r}", kind="group", name=group)


_ONLINE: Final = (ResponseCode.SUCCESS, ResponseCode.CONSUMER_NOT_ONLINE)


def _stats_question(group: str, topic: str = "") -> Question:
    return Question(RequestCode.GET_CONSUME_STATS, GetConsumeStats(group, topic))


def _members_question(group: str) -> Question:
    return Question(RequestCode.GET_CONSUMER_CONNECTION_LIST, GetConsumerConnections(group))


def _tables(admin: Admin, masters: Mapping[str, str]) -> dict[str, dict[str, SubscriptionGroup]]:
    question = Question(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
    outcomes = admin.ask_all((address, question) for address in masters.values())
    return {broker: decode_group_table(expect(outcome).body) for broker, outcome in zip(masters, outcomes, strict=True)}


def _connections(outcome: Outcome) -> ConsumerConnections | None:
    answer = expect(outcome)
    return decode_consumer_connections(answer.body) if answer.code == ResponseCode.SUCCESS else None


def _lags(outcome: Outcome) -> list[QueueLag]:
    return [_lag(queue, found) for queue, found in decode_consume_stats(expect(outcome).body).items()]


def _lag(queue: MessageQueue, found: QueueProgress) -> QueueLag:
    return QueueLag(
        topic=queue.topic,
        broker=queue.broker_name,
        queue_id=queue.queue_id,
        consumer_offset=found.consumer_offset,
        broker_offset=found.broker_offset,
        lag=found.broker_offset - found.consumer_offset,
        in_flight=max(0, found.pulled_offset - found.consumer_offset),
        last_consumed_at_ms=found.last_consumed_at_ms if found.last_consumed_at_ms > 0 else None,
    )
