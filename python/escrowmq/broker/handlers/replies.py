"""Replies of whoever was asked by a message: pushed to the client that has asked, and stored too.

asker ── message ──▶ topic ──▶ consumer ── SEND_REPLY_MESSAGE ──▶ here ── PUSH_REPLY_MESSAGE_TO_CLIENT ──▶ asker
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import structlog
from msgspec.structs import replace

from escrowmq.broker.context import Context
from escrowmq.broker.delivery.draft import Draft
from escrowmq.broker.handlers.sends import draft_of_send, topic_of_send
from escrowmq.broker.outcome import Forward, Notice, Outcome, Reply, WhenDurable
from escrowmq.broker.ports import ClientRequest
from escrowmq.broker.refusal import Refused
from escrowmq.errors import StoreError
from escrowmq.protocol import properties
from escrowmq.protocol.headers.send_message import decode_send_message
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

WAIT_MS: Final = 10_000
"""How long a client may take to say that it has the reply. RocketMQ waits as long."""

# The fields of a send that are passed on, by the letters of the short form and by their names.
_PASSED_ON: Final = {
    "a": "producerGroup",
    "b": "topic",
    "c": "defaultTopic",
    "d": "defaultTopicQueueNums",
    "e": "queueId",
    "f": "sysFlag",
    "g": "bornTimestamp",
    "h": "flag",
    "j": "reconsumeTimes",
    "k": "unitMode",
}

_log = structlog.get_logger()


def reply(context: Context, request: ClientRequest) -> Outcome:
    """SEND_REPLY_MESSAGE in both forms: answered when the client that has asked has the reply, or does not."""
    header = decode_send_message(request.code, request.ext_fields)
    try:
        topic = topic_of_send(context, header)
        sent = draft_of_send(context, request, header, topic, properties.decode(header.properties))
    except Refused as refusal:
        return Answer(refusal.code, refusal.remark, context.stamp.answer_fields())
    # Compat: a reply does not say which cluster it came through.
    pairs = {name: value for name, value in sent.properties.items() if name != properties.CLUSTER}
    draft = replace(sent, properties=pairs)
    client_id = draft.properties.get(properties.REPLY_TO_CLIENT)
    if client_id is None:
        return _stored(context, draft, f"reply message properties[{properties.REPLY_TO_CLIENT}] is null")
    client = context.clients.find_producer(client_id)
    if client is None:
        return _stored(context, draft, f"push reply message fail, channel of <{client_id}> not found.")
    question = Notice(
        client.connection,
        RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT,
        _pushed_fields(context, request, draft),
        bytes(request.body),
    )
    return Forward([question], partial(_finish, context, draft, client_id), WAIT_MS)


def _pushed_fields(context: Context, request: ClientRequest, draft: Draft) -> dict[str, str]:
    sent: Mapping[str, str] = request.ext_fields
    is_short = request.code == RequestCode.SEND_REPLY_MESSAGE_V2
    fields = {name: sent.get(letter if is_short else name) for letter, name in _PASSED_ON.items()}
    now = str(context.wall_ms())
    pairs = {**draft.properties, properties.REPLY_PUSHED_MS: now}
    return {
        **{name: value for name, value in fields.items() if value is not None},
        "properties": properties.encode(pairs).decode(),
        "bornHost": draft.born_host,
        "storeHost": context.address,
        "storeTimestamp": now,
    }


def _finish(context: Context, draft: Draft, client_id: str, replies: Sequence[Reply]) -> Answer | WhenDurable:
    (said,) = replies
    is_there = isinstance(said, Answer) and said.code == ResponseCode.SUCCESS
    return _stored(context, draft, None if is_there else f"push reply message to {client_id}fail.")


def _stored(context: Context, draft: Draft, failure: str | None) -> Answer | WhenDurable:
    """Stores a reply and tells whether it was pushed. Compat: where it can't be stored, that is no failure."""
    code = ResponseCode.SUCCESS if failure is None else ResponseCode.SYSTEM_ERROR
    fields = {**context.stamp.answer_fields(), "queueId": str(draft.queue_id)}
    try:
        (receipt,) = context.log.append([draft.to_message()])
    except StoreError as error:
        _log.warning("a reply was not stored", topic=draft.topic, reason=str(error))
        return Answer(code, failure, {**fields, "msgId": "0", "queueOffset": "0"})
    place = {"msgId": context.stamp.message_id(receipt.log_offset), "queueOffset": str(receipt.queue_offset)}
    return WhenDurable(Answer(code, failure, {**fields, **place}), receipt.end_offset)
