"""Pulls that the fast lane could not answer: what they miss is made, or it is said why it can't be."""

from typing import Final

from escrowmq.broker.context import Context
from escrowmq.broker.handlers.filters import refuse_brought, refuse_known
from escrowmq.broker.outcome import RETRY, Outcome
from escrowmq.broker.ports import ClientRequest
from escrowmq.broker.questions import SEE_QUESTIONS
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.pull_message import PullMessage
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode

# Clients read from this field of the answer why a pull is forbidden.
_FORBIDDEN_TYPE: Final = "forbiddenType"
_BROADCASTING_FORBIDDEN: Final = "4"


def pull(context: Context, request: ClientRequest) -> Outcome:
    """PULL_MESSAGE and LITE_PULL_MESSAGE: makes the group, or says what is missing."""
    header = decode_header(PullMessage, request.ext_fields)
    if context.groups.find_or_create(header.group) is None:
        return Answer(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
            f"subscription group [{header.group}] does not exist, {SEE_QUESTIONS}",
        )
    if context.topics.find(header.topic) is None:
        return Answer(
            ResponseCode.TOPIC_NOT_EXIST, f"topic[{header.topic}] not exist, apply first please! {SEE_QUESTIONS}"
        )
    refusal = refuse_brought(context, header) if header.has_subscription else _refuse_subscription(context, header)
    return refusal if refusal is not None else RETRY


def _refuse_subscription(context: Context, header: PullMessage) -> Answer | None:
    """What speaks against a pull by the subscription of the group's last heartbeat."""
    consumers = context.clients.consumer_group(header.group)
    if consumers is None:
        return Answer(ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's group info not exist{SEE_QUESTIONS}")
    group = context.groups.find(header.group)
    if consumers.is_broadcasting and group is not None and not group.may_broadcast:
        return Answer(
            ResponseCode.NO_PERMISSION,
            f"the consumer group[{header.group}] can not consume by broadcast way",
            ext_fields={_FORBIDDEN_TYPE: _BROADCASTING_FORBIDDEN},
        )
    subscription = consumers.subscriptions.get(header.topic)
    if subscription is None:
        return Answer(ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's subscription not exist{SEE_QUESTIONS}")
    return refuse_known(context, header, subscription)
