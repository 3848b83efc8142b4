"""CONSUMER_SEND_MSG_BACK: a consumer could not consume a message, and gets it again later, or gives it up."""

from collections.abc import Sequence

import structlog

from escrowmq.broker.batches import Append
from escrowmq.broker.context import Context
from escrowmq.broker.delivery.postponing import postpone
from escrowmq.broker.delivery.retrying import (
    DEAD_LETTER_QUEUES,
    Retries,
    given_back,
    is_dead_when_given_back,
    retries_max,
    retry_level,
)
from escrowmq.broker.outcome import Outcome, WhenDurable
from escrowmq.broker.ports import AppendedMessage, ClientRequest, StoredRecord
from escrowmq.broker.questions import SEE_QUESTIONS
from escrowmq.broker.refusal import Refused
from escrowmq.errors import NoRecord
from escrowmq.model import names
from escrowmq.model.subscription import SubscriptionGroup
from escrowmq.model.topic import Permission, TopicConfig, TopicSystemFlag
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.send_back import SendBack
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode

_log = structlog.get_logger()


def send_back(context: Context, request: ClientRequest) -> Outcome | Append:
    """Appends the message once more: to be delivered to the group's retry topic later, or to its dead letters."""
    header = decode_header(SendBack, request.ext_fields)
    try:
        group = _group(context, header.group)
        if group.retry_queues <= 0:
            # Compat: a group without retry queues does not want them back.
            return Answer()
        topic = _retry_topic(context, header, group)
        record = _record(context, header.log_offset)
    except Refused as refusal:
        return Answer(refusal.code, refusal.remark)
    retries = Retries(
        done=record.reconsume_times,
        max=retries_max(group, client_version=request.version, asked=header.retries_max),
    )
    if is_dead_when_given_back(retries, level=header.delay_level):
        level = 0
        topic = context.topics.create_dead_letter(group.name, queues=DEAD_LETTER_QUEUES)
        queue_id = context.random.randrange(DEAD_LETTER_QUEUES)
    else:
        level = retry_level(level=header.delay_level, retries_done=retries.done)
        queue_id = context.random.randrange(group.retry_queues)
    draft = given_back(record, topic.name, queue_id=queue_id, level=level)
    if level > 0:
        draft = postpone(draft, level, context.levels)

    def stored(receipts: Sequence[AppendedMessage]) -> Outcome:
        (receipt,) = receipts
        if level > 0:
            context.delayed.postponed(min(level, context.levels.highest), receipt)
        late = ResponseCode.FLUSH_DISK_TIMEOUT.name
        return WhenDurable(Answer(), receipt.end_offset, late_code=ResponseCode.SYSTEM_ERROR, late_remark=late)

    # Compat: whatever the store says against it, the code is the same, and the remark is what RocketMQ calls it.
    return Append([draft.to_message()], stored, lambda code, _: Answer(ResponseCode.SYSTEM_ERROR, code.name))


def _group(context: Context, name: str) -> SubscriptionGroup:
    group = context.groups.find_or_create(name)
    if group is None:
        raise Refused(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, {name} {SEE_QUESTIONS}"
        )
    if not context.settings.broker.permission & Permission.WRITE:
        raise Refused(
            ResponseCode.NO_PERMISSION, f"the broker[{context.settings.broker.advertise}] sending message is forbidden"
        )
    return group


def _retry_topic(context: Context, header: SendBack, group: SubscriptionGroup) -> TopicConfig:
    topic = context.topics.create_retry(
        group.name,
        queues=group.retry_queues,
        is_ordered=False,
        system_flag=TopicSystemFlag.UNIT_SUBSCRIPTION if header.is_unit_mode else 0,
    )
    if topic is None:
        raise Refused(ResponseCode.SYSTEM_ERROR, f"topic[{names.retry_topic(group.name)}] not exist")
    if not topic.permissions & Permission.WRITE:
        raise Refused(ResponseCode.NO_PERMISSION, f"the topic[{topic.name}] sending message is forbidden")
    return topic


def _record(context: Context, log_offset: int) -> StoredRecord:
    try:
        if log_offset >= 0:
            return context.store.record_at(log_offset)
    except NoRecord:
        _log.debug("a message that was given back is not there", log_offset=log_offset)
    raise Refused(ResponseCode.SYSTEM_ERROR, f"look message by offset failed, {log_offset}")
