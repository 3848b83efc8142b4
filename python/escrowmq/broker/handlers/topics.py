"""Requests of operators about topics."""

from escrowmq.broker import queue_facts, topic_attributes
from escrowmq.broker.context import Context
from escrowmq.broker.ports import ClientRequest
from escrowmq.broker.topic_attributes import BadAttribute
from escrowmq.model import names
from escrowmq.model.message_queue import MessageQueue
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol.bodies.topic_configs import decode_topic_list, encode_topic, encode_topic_table
from escrowmq.protocol.bodies.topic_stats import TopicOffset, encode_topic_stats
from escrowmq.protocol.headers.create_topic import PERMISSIONS_MAX, QUEUES_MAX, CreateTopic
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.delete_topic_in_broker import DeleteTopicInBroker
from escrowmq.protocol.headers.get_topic_config import GetTopicConfig
from escrowmq.protocol.headers.get_topic_stats import GetTopicStats
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode


def update(context: Context, request: ClientRequest) -> Answer:
    """UPDATE_AND_CREATE_TOPIC: makes a topic, or alters it."""
    header = decode_header(CreateTopic, request.ext_fields)
    refusal = _refuse(context, header.topic)
    if refusal is not None:
        return refusal
    topic = TopicConfig(
        name=header.topic,
        read_queues=header.read_queues,
        write_queues=header.write_queues,
        permissions=header.permissions,
        filter_type=header.filter_type,
        system_flag=header.system_flag,
        is_ordered=header.is_ordered,
        attributes=topic_attributes.parse_changes(header.attributes),
    )
    return _update(context, [topic])


def update_list(context: Context, request: ClientRequest) -> Answer:
    """UPDATE_AND_CREATE_TOPIC_LIST: makes or alters topics, all or none."""
    topics = decode_topic_list(request.body)
    refusals = (_refuse(context, topic.name) or _refuse_numbers(topic) for topic in topics)
    refusal = next((refusal for refusal in refusals if refusal is not None), None)
    return refusal if refusal is not None else _update(context, topics)


def delete(context: Context, request: ClientRequest) -> Answer:
    """DELETE_TOPIC_IN_BROKER: deletes a topic with its queues, and what groups have read of it.

    The queues decide: a deletion that they refuse changes nothing. When they are gone for good, the rest follows, and
    what a crash or a full disk keeps from following does when the topic is deleted again. Offsets that a crash leaves
    behind do not outlast the next start, which knows of no queue for them.
    """
    header = decode_header(DeleteTopicInBroker, request.ext_fields)
    if not header.topic.strip():
        return Answer(ResponseCode.INVALID_PARAMETER, "The specified topic is blank.")
    if context.topics.is_system(header.topic):
        return _conflict(header.topic)
    with context.snapshots.without_topic(context.fast_lane, header.topic):
        context.store.delete_topics([header.topic])
        context.offsets.remove_consumer_offsets(topic=header.topic)
        context.save_offsets()
        # Last: as long as offsets may come back, there is a topic to delete again.
        context.topics.delete(header.topic)
    return Answer()


def show(context: Context, request: ClientRequest) -> Answer:
    """GET_TOPIC_CONFIG: one topic."""
    header = decode_header(GetTopicConfig, request.ext_fields)
    topic = context.topics.find(header.topic)
    if topic is None:
        return Answer(ResponseCode.TOPIC_NOT_EXIST, f"No topic in this broker. topic: {header.topic}")
    return Answer(body=encode_topic(topic))


def show_all(context: Context, _: ClientRequest) -> Answer:
    """GET_ALL_TOPIC_CONFIG: all topics. Who asks for a part of them gets all at once, and asks no more."""
    topics = context.topics
    return Answer(
        ext_fields={"totalTopicNum": str(len(topics.table))},
        body=encode_topic_table(topics.table, topics.data_version),
    )


def stats(context: Context, request: ClientRequest) -> Answer:
    """GET_TOPIC_STATS_INFO: what the queues of a topic hold."""
    header = decode_header(GetTopicStats, request.ext_fields)
    topic = context.topics.find(header.topic)
    if topic is None:
        return Answer(ResponseCode.TOPIC_NOT_EXIST, f"topic[{header.topic}] not exist")
    offsets = {
        MessageQueue(context.broker_name, queue_id, topic.name): _offset(context, topic.name, queue_id)
        for queue_id in range(max(topic.read_queues, topic.write_queues))
    }
    return Answer(body=encode_topic_stats(offsets, put_per_s=context.statistics.put_per_s(topic.name)))


def _offset(context: Context, topic: str, queue_id: int) -> TopicOffset:
    first, end = queue_facts.bounds(context.store, topic, queue_id)
    stored_at_ms = queue_facts.stored_at_ms(context.store, topic, queue_id, end - 1) if end > 0 else 0
    return TopicOffset(stored_at_ms, end, first)


def _refuse(context: Context, name: str) -> Answer | None:
    remark = names.refuse_topic(name)
    if remark is not None:
        return Answer(ResponseCode.INVALID_PARAMETER, remark)
    return _conflict(name) if context.topics.is_system(name) else None


def _refuse_numbers(topic: TopicConfig) -> Answer | None:
    """Numbers of a body, which nothing has checked yet; those of a header are."""
    queues = (topic.read_queues, topic.write_queues)
    if all(0 <= count <= QUEUES_MAX for count in queues) and 0 <= topic.permissions <= PERMISSIONS_MAX:
        return None
    return Answer(ResponseCode.INVALID_PARAMETER, f"The topic[{topic.name}] has queues or a permission out of range.")


def _update(context: Context, topics: list[TopicConfig]) -> Answer:
    if any(topic.attributes.get("+message.type") == "MIXED" for topic in topics):
        return Answer(ResponseCode.INVALID_PARAMETER, "MIXED message type is not supported.")
    try:
        context.topics.update(topics)
    except BadAttribute as error:
        return Answer(ResponseCode.SYSTEM_ERROR, str(error))
    return Answer()


def _conflict(name: str) -> Answer:
    return Answer(ResponseCode.INVALID_PARAMETER, f"The topic[{name}] is conflict with system topic.")
