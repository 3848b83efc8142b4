"""Requests of operators about what groups have read and what is left for them."""

from escrowmq.broker import queue_facts
from escrowmq.broker.context import Context
from escrowmq.broker.ports import ClientRequest
from escrowmq.model.message_queue import MessageQueue
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol.bodies.consume_stats import ConsumeStats, QueueProgress, encode_broker_consume_stats
from escrowmq.protocol.bodies.consumer_offsets import encode_consumer_offsets
from escrowmq.protocol.bodies.group_list import encode_group_list
from escrowmq.protocol.bodies.subscription import encode_subscription
from escrowmq.protocol.bodies.time_spans import TimeSpan, encode_time_spans
from escrowmq.protocol.bodies.topic_list import TopicList
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.get_broker_consume_stats import GetBrokerConsumeStats
from escrowmq.protocol.headers.get_consume_stats import GetConsumeStats
from escrowmq.protocol.headers.query_consume_time_span import QueryConsumeTimeSpan
from escrowmq.protocol.headers.query_subscription import QuerySubscription
from escrowmq.protocol.headers.query_topic_consume_by_who import QueryTopicConsumeByWho
from escrowmq.protocol.headers.query_topics_by_consumer import QueryTopicsByConsumer
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode


def stats(context: Context, request: ClientRequest) -> Answer:
    """GET_CONSUME_STATS: how far a group is in the topics that it reads, in one of them, or in those of a list."""
    header = decode_header(GetConsumeStats, request.ext_fields)
    topics = header.topics
    if not topics:
        topics = [header.topic] if header.topic.strip() else topics_of(context, header.group)
        topics = [topic for topic in topics if may_read(context, header.group, topic)]
    known = [topic for topic in map(context.topics.find, dict.fromkeys(topics)) if topic is not None]
    return Answer(body=_stats(context, header.group, known).encode())


def all_stats(context: Context, request: ClientRequest) -> Answer:
    """GET_BROKER_CONSUME_STATS: the same of all groups, for ordered topics only if asked so."""
    header = decode_header(GetBrokerConsumeStats, request.ext_fields)
    groups = {}
    for group in context.groups.table:
        known = map(context.topics.find, topics_of(context, group))
        groups[group] = [
            _stats(context, group, [topic])
            for topic in known
            if topic is not None
            and (topic.is_ordered or not header.is_ordered)
            and may_read(context, group, topic.name)
        ]
    return Answer(body=encode_broker_consume_stats(context.address, groups))


def time_spans(context: Context, request: ClientRequest) -> Answer:
    """QUERY_CONSUME_TIME_SPAN: from when to when the messages of each queue are, and how far a group is."""
    header = decode_header(QueryConsumeTimeSpan, request.ext_fields)
    topic = context.topics.find(header.topic)
    if topic is None:
        return Answer(ResponseCode.TOPIC_NOT_EXIST, f"topic[{header.topic}] not exist")
    queue_ids = range(topic.write_queues)
    return Answer(body=encode_time_spans([_time_span(context, header, queue_id) for queue_id in queue_ids]))


def groups_of_topic(context: Context, request: ClientRequest) -> Answer:
    """QUERY_TOPIC_CONSUME_BY_WHO: the groups that subscribe to a topic, or have read of it."""
    wanted = decode_header(QueryTopicConsumeByWho, request.ext_fields).topic
    groups = {name for name, group in context.clients.consumer_groups.items() if wanted in group.subscriptions}
    groups.update(group for topic, group in _pairs(context) if topic == wanted)
    return Answer(body=encode_group_list(sorted(groups)))


def topics_of_group(context: Context, request: ClientRequest) -> Answer:
    """QUERY_TOPICS_BY_CONSUMER: the topics that a group has read of."""
    header = decode_header(QueryTopicsByConsumer, request.ext_fields)
    return Answer(body=TopicList(topics_of(context, header.group), context.address).encode())


def subscription(context: Context, request: ClientRequest) -> Answer:
    """QUERY_SUBSCRIPTION_BY_CONSUMER: what a group wants of a topic, while it has a member."""
    header = decode_header(QuerySubscription, request.ext_fields)
    group = context.clients.consumer_group(header.group)
    found = None if group is None else group.subscriptions.get(header.topic)
    return Answer(body=encode_subscription(header.group, header.topic, found))


def all_offsets(context: Context, _: ClientRequest) -> Answer:
    """GET_ALL_CONSUMER_OFFSET: what all groups read next."""
    topics: dict[str, list[str]] = {}
    for topic, group in _pairs(context):
        topics.setdefault(group, []).append(topic)
    return Answer(
        body=encode_consumer_offsets(
            context.offsets_version(), topics, context.offsets.consumer_offsets(), context.offsets.pulled_offsets()
        )
    )


def topics_of(context: Context, group: str) -> list[str]:
    """The topics that a group has read of."""
    return sorted(topic for topic, other in _pairs(context) if other == group)


def may_read(context: Context, group: str, topic: str) -> bool:
    """Whether a group reads a topic, as far as is known: what its members subscribe to counts while it has any."""
    consumers = context.clients.consumer_group(group)
    return consumers is None or not consumers.subscriptions or topic in consumers.subscriptions


def _stats(context: Context, group: str, topics: list[TopicConfig]) -> ConsumeStats:
    pulled = context.offsets.pulled_offsets()
    queues = {}
    for topic in topics:
        pulled_here = pulled.get(f"{topic.name}@{group}", {})
        for queue_id in range(topic.read_queues):
            queue = MessageQueue(context.broker_name, queue_id, topic.name)
            queues[queue] = _progress(context, group, queue, pulled_here.get(queue_id, 0))
    got_per_s = sum(context.statistics.got_per_s(group, topic.name) for topic in topics)
    return ConsumeStats(got_per_s, queues)


def _progress(context: Context, group: str, queue: MessageQueue, pulled: int) -> QueueProgress:
    place = (queue.topic, queue.queue_id)
    consumed = max(0, context.offsets.consumer_offset(group, *place) or 0)
    return QueueProgress(
        broker_offset=queue_facts.bounds(context.store, *place)[1],
        consumer_offset=consumed,
        last_consumed_at_ms=max(0, queue_facts.stored_at_ms(context.store, *place, consumed - 1)),
        pulled_offset=max(consumed, pulled),
    )


def _time_span(context: Context, header: QueryConsumeTimeSpan, queue_id: int) -> TimeSpan:
    def stored_at_ms(offset: int) -> int:
        return queue_facts.stored_at_ms(context.store, header.topic, queue_id, offset)

    first, end = queue_facts.bounds(context.store, header.topic, queue_id)
    first_ms = stored_at_ms(first)
    committed = context.offsets.consumer_offset(header.group, header.topic, queue_id)
    # Compat: of a group that never committed, RocketMQ says that it is as far behind as the epoch.
    next_offset = -1 if committed is None else committed
    return TimeSpan(
        queue=MessageQueue(context.broker_name, queue_id, header.topic),
        first_ms=first_ms,
        last_ms=stored_at_ms(end - 1),
        consumed_ms=stored_at_ms(next_offset - 1) if next_offset > 0 else first_ms,
        delay_ms=context.wall_ms() - stored_at_ms(next_offset) if next_offset < end else 0,
    )


def _pairs(context: Context) -> list[tuple[str, str]]:
    """Topics and the groups that have read of them."""
    return [(topic, group) for topic, _, group in (key.partition("@") for key in context.offsets.consumer_offsets())]
