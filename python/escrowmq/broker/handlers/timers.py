"""Messages with a time of their own: taking one back, and what others ask about them."""

from collections.abc import Sequence
from typing import Final

from escrowmq.broker.batches import Append
from escrowmq.broker.context import Context
from escrowmq.broker.delivery.draft import Draft
from escrowmq.broker.delivery.timing import TimerRules, refuse_broken, slot_ms, wait_until
from escrowmq.broker.outcome import Outcome, WhenDurable
from escrowmq.broker.ports import AppendedMessage, ClientRequest
from escrowmq.broker.refusal import Refused
from escrowmq.model.topic import Permission
from escrowmq.protocol import properties
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.recall_message import RecallMessage
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.recall_handle import RecallHandle, decode_recall_handle
from escrowmq.protocol.response_codes import ResponseCode

# Compat: what a message that takes another back carries.
_BODY: Final = b"0"
_TAG: Final = "_RECALL_TAG_"
_DONE: Final = "not set any response code"


def checkpoint(context: Context, _: ClientRequest) -> Answer:
    """GET_TIMER_CHECK_POINT: how far the timers are."""
    if context.timers is None:
        return Answer(ResponseCode.SYSTEM_ERROR, "The checkpoint is null")
    return Answer(body=context.timers.checkpoint())


def metrics(context: Context, _: ClientRequest) -> Answer:
    """GET_TIMER_METRICS: how many messages wait for each topic."""
    if context.timers is None:
        return Answer(ResponseCode.SYSTEM_ERROR, "The timer message store is null")
    return Answer(body=context.timers.metrics().encode())


def recall(context: Context, request: ClientRequest) -> Outcome | Append:
    """RECALL_MESSAGE: appends a message that waits in the same slot, and keeps the other from being delivered."""
    header = decode_header(RecallMessage, request.ext_fields)
    fields = {properties.REGION: context.settings.broker.region}

    def refused(code: ResponseCode, remark: str) -> Answer:
        return Answer(code, remark, fields)

    try:
        handle = _handle(context, header)
        draft = _draft(context, request, header, handle)
        if context.timers is not None:
            refuse_broken(context.timers)
        slot = slot_ms(draft.properties, TimerRules.of(context.settings.broker), now_ms=context.wall_ms())
    except Refused as refusal:
        return refused(refusal.code, refusal.remark)
    timers = context.timers
    if timers is None or slot is None:
        return refused(ResponseCode.SYSTEM_ERROR, "recall failed, execute error")

    def stored(receipts: Sequence[AppendedMessage]) -> Outcome:
        (receipt,) = receipts
        timers.appended(receipt.end_offset)
        answer = Answer(remark=_DONE, ext_fields={**fields, "msgId": handle.message_id})
        return WhenDurable(answer, receipt.end_offset)

    return Append([wait_until(draft, slot).to_message()], stored, refused)


def _handle(context: Context, header: RecallMessage) -> RecallHandle:
    """The message that is to be taken back, if that may be done."""
    config = context.settings.broker
    if not config.takes_recalls:
        raise Refused(ResponseCode.NO_PERMISSION, "recall failed, operation is forbidden")
    if not config.permission & Permission.WRITE:
        raise Refused(ResponseCode.SERVICE_NOT_AVAILABLE, "recall failed, broker service not available")
    if context.topics.find(header.topic) is None:
        raise Refused(ResponseCode.TOPIC_NOT_EXIST, f"recall failed, the topic[{header.topic}] not exist")
    handle = decode_recall_handle(header.handle)
    if handle is None:
        raise Refused(ResponseCode.ILLEGAL_OPERATION, "recall handle is invalid")
    if handle.topic != header.topic:
        raise Refused(ResponseCode.ILLEGAL_OPERATION, "recall failed, topic not match")
    if handle.broker_name != context.broker_name:
        raise Refused(ResponseCode.ILLEGAL_OPERATION, "recall failed, broker service not available")
    left_ms = int(handle.time_ms) - context.wall_ms() if handle.time_ms.isdecimal() else 0
    if not 0 < left_ms < config.timer_delay_max_s * 1_000:
        raise Refused(ResponseCode.ILLEGAL_OPERATION, "recall failed, timestamp invalid")
    return handle


def _draft(context: Context, request: ClientRequest, header: RecallMessage, handle: RecallHandle) -> Draft:
    now_ms = context.wall_ms()
    return Draft(
        topic=handle.topic,
        queue_id=0,
        properties={
            properties.TAGS: _TAG,
            properties.TIMER_DELETE_KEY: handle.message_id,
            properties.UNIQUE_KEY: handle.message_id,
            properties.TIMER_DELIVER_MS: handle.time_ms,
            properties.BORN_TIMESTAMP: str(now_ms),
            properties.PRODUCER_GROUP: header.producer_group,
        },
        body=_BODY,
        born_timestamp_ms=now_ms,
        born_host=request.peer,
    )
