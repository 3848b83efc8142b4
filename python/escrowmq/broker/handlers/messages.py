"""Sends and pulls that the fast lane could not answer: what they miss is made, or it is said why it can't be."""

from typing import Final

from escrowmq.broker import names
from escrowmq.broker.context import Context
from escrowmq.broker.handlers.filters import refuse_brought, refuse_known
from escrowmq.broker.outcome import RETRY, Outcome
from escrowmq.broker.ports import ClientRequest
from escrowmq.model.topic import TopicSystemFlag
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.pull_message import PullMessage
from escrowmq.protocol.headers.send_message import SendMessage, SendMessageV2, decode_send_message
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode

_SEE_QUESTIONS: Final = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."

# Messages with these are no plain appends: half messages, and those that are delivered later.
_SPECIAL_PROPERTIES: Final = frozenset({"TRAN_MSG", "DELAY", "TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS"})

# Clients read from this field of the answer why a pull is forbidden.
_FORBIDDEN_TYPE: Final = "forbiddenType"
_BROADCASTING_FORBIDDEN: Final = "4"


def send(context: Context, request: ClientRequest) -> Outcome:
    """SEND_MESSAGE in its three forms: makes the topic, and lets the fast lane store the message."""
    header = decode_send_message(request.code, request.ext_fields)
    remark = names.refuse_topic(header.topic)
    if remark is not None:
        return Answer(ResponseCode.INVALID_PARAMETER, remark)
    if header.topic in names.UNSENDABLE_TOPICS:
        return Answer(ResponseCode.NO_PERMISSION, f"Sending message to topic[{header.topic}] is forbidden.")
    if not _is_plain(header):
        return Answer(
            ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
            f"this broker does not take such a message to topic[{header.topic}] yet",
        )
    is_there = context.topics.find(header.topic) is not None or context.topics.create_for_send(
        header.topic,
        default_topic=header.default_topic,
        queues_max=header.default_topic_queues,
        system_flag=TopicSystemFlag.UNIT if header.is_unit_mode else 0,
    )
    if not is_there:
        return Answer(
            ResponseCode.TOPIC_NOT_EXIST, f"topic[{header.topic}] not exist, apply first please!{_SEE_QUESTIONS}"
        )
    return RETRY


def pull(context: Context, request: ClientRequest) -> Outcome:
    """PULL_MESSAGE and LITE_PULL_MESSAGE: makes the group, or says what is missing."""
    header = decode_header(PullMessage, request.ext_fields)
    if context.groups.find_or_create(header.group) is None:
        return Answer(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
            f"subscription group [{header.group}] does not exist, {_SEE_QUESTIONS}",
        )
    if context.topics.find(header.topic) is None:
        return Answer(
            ResponseCode.TOPIC_NOT_EXIST, f"topic[{header.topic}] not exist, apply first please! {_SEE_QUESTIONS}"
        )
    refusal = refuse_brought(context, header) if header.has_subscription else _refuse_subscription(context, header)
    return refusal if refusal is not None else RETRY


def _is_plain(header: SendMessage | SendMessageV2) -> bool:
    if header.topic.startswith((names.RETRY_PREFIX, names.DEAD_LETTER_PREFIX, names.SYSTEM_PREFIX)):
        return False
    properties = {pair.partition("\x01")[0] for pair in header.properties.split("\x02")}
    return properties.isdisjoint(_SPECIAL_PROPERTIES)


def _refuse_subscription(context: Context, header: PullMessage) -> Answer | None:
    """What speaks against a pull by the subscription of the group's last heartbeat."""
    consumers = context.clients.consumer_group(header.group)
    if consumers is None:
        return Answer(ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's group info not exist{_SEE_QUESTIONS}")
    group = context.groups.find(header.group)
    if consumers.is_broadcasting and group is not None and not group.may_broadcast:
        return Answer(
            ResponseCode.NO_PERMISSION,
            f"the consumer group[{header.group}] can not consume by broadcast way",
            ext_fields={_FORBIDDEN_TYPE: _BROADCASTING_FORBIDDEN},
        )
    subscription = consumers.subscriptions.get(header.topic)
    if subscription is None:
        return Answer(ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's subscription not exist{_SEE_QUESTIONS}")
    return refuse_known(context, header, subscription)
