"""Requests of operators that move groups: to where a queue was at a time, to its end, or to where another group is."""

from escrowmq.broker import queue_facts
from escrowmq.broker.context import Context
from escrowmq.broker.handlers.consumption import may_read, topics_of
from escrowmq.broker.outcome import Notice
from escrowmq.broker.ports import ClientRequest
from escrowmq.model.message_queue import MessageQueue
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol.bodies.queue_offsets import encode_queue_offset_list, encode_queue_offsets
from escrowmq.protocol.headers.clone_group_offset import CloneGroupOffset
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.reset_offset import ResetOffset
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.transaction.topics import PROGRESS_GROUP


def reset(context: Context, request: ClientRequest) -> Answer:
    """INVOKE_BROKER_TO_RESET_OFFSET: moves a group, by itself or, where it is set so, by asking its members to move."""
    header = decode_header(ResetOffset, request.ext_fields)
    if header.group == PROGRESS_GROUP:
        return _is_ours()
    topic = context.topics.find(header.topic)
    if context.settings.broker.resets_offsets:
        return _reset(context, header, topic)
    return _ask_members(context, header, topic, is_from_c=request.language == "CPP")


def clone(context: Context, request: ClientRequest) -> Answer:
    """CLONE_GROUP_OFFSET: a group begins where another one is, in one topic or in all that the other has read of."""
    header = decode_header(CloneGroupOffset, request.ext_fields)
    if header.destination == PROGRESS_GROUP:
        return _is_ours()
    topics = [header.topic] if header.topic.strip() else topics_of(context, header.source)
    for topic in topics:
        if context.topics.find(topic) is None:
            continue
        if not header.is_offline and not may_read(context, header.source, topic):
            continue
        offsets = context.offsets.consumer_offsets().get(f"{topic}@{header.source}")
        if offsets is not None:
            context.offsets.remove_consumer_offsets(group=header.destination, topic=topic)
            for queue_id, offset in offsets.items():
                context.offsets.commit_consumer_offset(header.destination, topic, queue_id, offset)
    return Answer()


def _is_ours() -> Answer:
    """Whoever moved how far transactions are would have the next start close those that it has passed."""
    return Answer(ResponseCode.NO_PERMISSION, f"the group {PROGRESS_GROUP} is the broker's own")


def _reset(context: Context, header: ResetOffset, topic: TopicConfig | None) -> Answer:
    """Moves the group here: its members are told by the answers to their next pulls."""
    if topic is None:
        return Answer(ResponseCode.TOPIC_NOT_EXIST, f"Topic {header.topic} does not exist")
    if context.groups.find(header.group) is None:
        return Answer(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {header.group} does not exist")
    if header.queue_id >= 0 and header.offset != -1:
        first, end = queue_facts.bounds(context.store, header.topic, header.queue_id)
        if not first <= header.offset <= end + 1:
            return Answer(
                ResponseCode.SYSTEM_ERROR,
                f"Target offset {header.offset} not in consume queue range [{first}-{end}]",
            )
        wanted = {header.queue_id: header.offset}
    else:
        queue_ids = [header.queue_id] if header.queue_id >= 0 else range(topic.read_queues)
        wanted = {queue_id: _offset_by_time(context, header, queue_id) for queue_id in queue_ids}
    if not wanted:
        return Answer(ResponseCode.SYSTEM_ERROR, "No queues to reset.")
    for queue_id, offset in wanted.items():
        context.offsets.reset_consumer_offset(header.group, header.topic, queue_id, offset)
    return Answer(body=encode_queue_offsets(_by_queue(context, header.topic, wanted)))


def _ask_members(context: Context, header: ResetOffset, topic: TopicConfig | None, *, is_from_c: bool) -> Answer:
    """Sends RESET_CONSUMER_CLIENT_OFFSET to every member, as RocketMQ did before 5.0."""
    if topic is None:
        return Answer(
            ResponseCode.TOPIC_NOT_EXIST,
            f"[reset-offset] reset offset failed, no topic in this broker. topic={header.topic}",
        )
    wanted = {}
    for queue_id in range(topic.write_queues):
        committed = context.offsets.consumer_offset(header.group, header.topic, queue_id)
        if committed is None:
            return Answer(ResponseCode.SYSTEM_ERROR, f"THe consumer group <{header.group}> not exist")
        offset = _offset_by_time(context, header, queue_id)
        wanted[queue_id] = offset if header.is_forced else min(offset, committed)
    consumers = context.clients.consumer_group(header.group)
    if consumers is None:
        return Answer(
            ResponseCode.CONSUMER_NOT_ONLINE,
            f"Consumer not online, so can not reset offset, Group: {header.group} Topic: {header.topic} "
            f"Timestamp: {header.timestamp_ms}",
        )
    offsets = _by_queue(context, header.topic, wanted)
    fields = {
        "topic": header.topic,
        "group": header.group,
        "timestamp": str(header.timestamp_ms),
        "queueId": "-1",
        "isForce": "false",
    }
    body = encode_queue_offset_list(offsets) if is_from_c else encode_queue_offsets(offsets)
    context.notices += [
        Notice(connection, RequestCode.RESET_CONSUMER_CLIENT_OFFSET, fields, body) for connection in consumers.members
    ]
    return Answer(body=encode_queue_offsets(offsets))


def _offset_by_time(context: Context, header: ResetOffset, queue_id: int) -> int:
    """Where a queue was at a time; a time before 1970 means its end."""
    if header.timestamp_ms < 0:
        return queue_facts.bounds(context.store, header.topic, queue_id)[1]
    return context.store.offset_by_time(header.topic, queue_id, header.timestamp_ms) or 0


def _by_queue(context: Context, topic: str, offsets: dict[int, int]) -> dict[MessageQueue, int]:
    return {MessageQueue(context.broker_name, queue_id, topic): offset for queue_id, offset in offsets.items()}
