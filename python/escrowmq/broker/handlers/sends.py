"""Sends that the fast lane could not take: they go to a topic that is not there yet, or are more than an append.

A message for later goes to the schedule topic or to that of the timers, one that was tried too often to the dead
letters. For any other the topic is made, and the fast lane stores it.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from escrowmq.broker.batches import Append
from escrowmq.broker.context import Context
from escrowmq.broker.delivery.draft import Draft
from escrowmq.broker.delivery.postponing import delay_level, postpone
from escrowmq.broker.delivery.retrying import DEAD_LETTER_QUEUES, Retries, dead_letter, is_dead_when_sent, retries_max
from escrowmq.broker.delivery.timing import (
    TimerRules,
    has_timer,
    recall_handle,
    refuse_broken,
    refuse_congestion,
    slot_ms,
    wait_until,
)
from escrowmq.broker.handlers import transactions
from escrowmq.broker.outcome import RETRY, Outcome, WhenDurable
from escrowmq.broker.ports import AppendedMessage, ClientRequest
from escrowmq.broker.questions import SEE_QUESTIONS
from escrowmq.broker.refusal import Refused
from escrowmq.model import names
from escrowmq.model.subscription import SubscriptionGroup
from escrowmq.model.topic import Permission, TopicConfig, TopicSystemFlag
from escrowmq.protocol import properties
from escrowmq.protocol.headers.send_message import SendMessage, SendMessageV2, decode_send_message
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.transaction.preparing import TRANSACTION_BITS, is_prepare

Header: TypeAlias = SendMessage | SendMessageV2


def send(context: Context, request: ClientRequest) -> Outcome | Append:
    """SEND_MESSAGE in its three forms."""
    header = decode_send_message(request.code, request.ext_fields)
    pairs = properties.decode(header.properties)
    is_batch = header.is_batch or request.code == RequestCode.SEND_BATCH_MESSAGE

    def refused(code: ResponseCode, remark: str) -> Answer:
        return Answer(code, remark, context.stamp.answer_fields())

    try:
        topic = topic_of_send(context, header)
        if is_batch:
            return _batch(header)
        if not _is_retry(header) and _is_plain(header, pairs):
            return RETRY
        draft = draft_of_send(context, request, header, topic, pairs)
        final = _retried(context, request, header, draft) if _is_retry(header) else draft
        if is_prepare(final.properties, reconsume_times=final.reconsume_times):
            return transactions.prepare(context, final)
        slot = _slot(context, final) if has_timer(final.properties) else None
    except Refused as refusal:
        return refused(refusal.code, refusal.remark)
    level = delay_level(final.properties)
    if level > 0:
        final = postpone(final, level, context.levels)
    elif slot is not None:
        final = wait_until(final, slot)

    def stored(receipts: Sequence[AppendedMessage]) -> Outcome:
        (receipt,) = receipts
        if level > 0:
            context.delayed.postponed(min(level, context.levels.highest), receipt)
        handle = ""
        if slot is not None and context.timers is not None:
            context.timers.appended(receipt.end_offset)
            handle = recall_handle(final, slot, broker_name=context.broker_name)
        fields = {
            **context.stamp.answer_fields(),
            "msgId": context.stamp.message_id(receipt.log_offset),
            # Compat: the queue that was asked for, wherever the message went.
            "queueId": str(draft.queue_id),
            "queueOffset": str(receipt.queue_offset),
            "transactionId": final.properties[properties.UNIQUE_KEY],
            **({"recallHandle": handle} if handle else {}),
        }
        return WhenDurable(Answer(ext_fields=fields), receipt.end_offset)

    return Append([final.to_message()], stored, refused)


def _is_retry(header: Header) -> bool:
    return header.topic.startswith(names.RETRY_PREFIX)


def _is_plain(header: Header, pairs: Mapping[str, str]) -> bool:
    """Whether the fast lane takes it, now that its topic is there."""
    return not (
        header.system_flag & TRANSACTION_BITS
        or pairs.get(properties.TRANSACTION_PREPARED, "").lower() == "true"
        or pairs.get(properties.DELAY, "0") != "0"
        or any(name in pairs for name in properties.TIMERS)
    )


def _batch(header: Header) -> Outcome:
    """A batch whose topic is there now; the fast lane refuses one that is for later or part of a transaction."""
    if _is_retry(header):
        raise Refused(ResponseCode.MESSAGE_ILLEGAL, f"batch request does not support retry group {header.topic}")
    return RETRY


def topic_of_send(context: Context, header: Header) -> TopicConfig:
    """The topic of a send, which is made if it is not there."""
    name = header.topic
    topic = context.topics.find(name)
    if topic is not None and topic.is_ordered and not context.settings.broker.permission & Permission.WRITE:
        raise Refused(
            ResponseCode.NO_PERMISSION, f"the broker[{context.settings.broker.advertise}] sending message is forbidden"
        )
    _refuse_name(name)
    if topic is None:
        topic = _made_topic(context, header)
    if topic is None:
        raise Refused(ResponseCode.TOPIC_NOT_EXIST, f"topic[{name}] not exist, apply first please!{SEE_QUESTIONS}")
    return topic


def _refuse_name(name: str) -> None:
    remark = names.refuse_topic(name)
    if remark is not None:
        raise Refused(ResponseCode.INVALID_PARAMETER, remark)
    if name in names.UNSENDABLE_TOPICS or name.startswith(names.SYSTEM_PREFIX):
        raise Refused(ResponseCode.NO_PERMISSION, f"Sending message to topic[{name}] is forbidden.")


def _made_topic(context: Context, header: Header) -> TopicConfig | None:
    if _is_retry(header):
        _group_of_retry(context, header)
    plan = _planned_topic(context, header)
    if plan is not None:
        context.topics.create([plan])
    return context.topics.find(header.topic)


def planned_topic(context: Context, request: ClientRequest) -> TopicConfig | None:
    """The topic that a send will make; None if it makes none."""
    header = decode_send_message(request.code, request.ext_fields)
    name = header.topic
    is_of_nobody = _is_retry(header) and context.groups.find(name.removeprefix(names.RETRY_PREFIX)) is None
    if context.topics.find(name) is not None or is_of_nobody:
        return None
    _refuse_name(name)
    return _planned_topic(context, header)


def _planned_topic(context: Context, header: Header) -> TopicConfig | None:
    unit_flag = TopicSystemFlag.UNIT_SUBSCRIPTION if _is_retry(header) else TopicSystemFlag.UNIT
    flag = unit_flag if header.is_unit_mode else 0
    plan = context.topics.plan_for_send(
        header.topic, default_topic=header.default_topic, queues_max=header.default_topic_queues, system_flag=flag
    )
    if plan is None and _is_retry(header):
        group = header.topic.removeprefix(names.RETRY_PREFIX)
        return context.topics.plan_retry(group, queues=1, is_ordered=False, system_flag=flag)
    return plan


def draft_of_send(
    context: Context, request: ClientRequest, header: Header, topic: TopicConfig, pairs: dict[str, str]
) -> Draft:
    """The message as it was sent."""
    queues = max(topic.read_queues, topic.write_queues)
    if header.queue_id >= queues:
        raise Refused(
            ResponseCode.INVALID_PARAMETER,
            f"request queueId[{header.queue_id}] is illegal, topic {topic.name} has {queues} queues, "
            f"Producer: {request.peer}",
        )
    if not request.body:
        raise Refused(ResponseCode.MESSAGE_ILLEGAL, "the message is illegal: it has no body")
    return Draft(
        topic=topic.name,
        queue_id=header.queue_id if header.queue_id >= 0 else context.random.randrange(max(1, topic.write_queues)),
        properties=context.stamp.complete(pairs),
        body=request.body,
        born_timestamp_ms=header.born_timestamp_ms,
        born_host=request.peer,
        flag=header.flag,
        # Which part of a transaction a message is, only the broker says.
        sys_flag=header.system_flag & ~TRANSACTION_BITS,
        reconsume_times=header.reconsume_times,
    )


def _retried(context: Context, request: ClientRequest, header: Header, draft: Draft) -> Draft:
    """A message that a consumer sends to its retry topic: to be tried again, or a dead letter."""
    group = _group_of_retry(context, header)
    name = group.name
    retries = Retries(
        done=header.reconsume_times,
        max=retries_max(group, client_version=request.version, asked=header.retries_max),
    )
    if not is_dead_when_sent(retries, has_locked_queues=context.locks.has_locked(name, now_ms=context.now_ms())):
        return draft
    topic = context.topics.create_dead_letter(name, queues=DEAD_LETTER_QUEUES)
    return dead_letter(draft, topic.name, queue_id=context.random.randrange(DEAD_LETTER_QUEUES))


def _group_of_retry(context: Context, header: Header) -> SubscriptionGroup:
    name = header.topic.removeprefix(names.RETRY_PREFIX)
    group = context.groups.find_or_create(name)
    if group is None:
        raise Refused(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, {name} {SEE_QUESTIONS}"
        )
    return group


def _slot(context: Context, draft: Draft) -> int | None:
    """The slot that a message with a time of its own waits for; None where its time has come."""
    if context.timers is None:
        raise Refused(ResponseCode.SYSTEM_ERROR, "accurate timer message is not enabled, timerWheelEnable is false")
    refuse_broken(context.timers)
    rules = TimerRules.of(context.settings.broker)
    slot = slot_ms(draft.properties, rules, now_ms=context.wall_ms())
    if slot is not None:
        refuse_congestion(slot, rules, context.timers.count_at, context.random)
    return slot
