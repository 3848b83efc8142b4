"""Transactions: half messages that are sent, decisions, and discarded ones that get another chance."""

import zlib
from collections.abc import Sequence
from typing import Final

import structlog
from msgspec.structs import replace

from escrowmq import _core
from escrowmq.broker.batches import Append
from escrowmq.broker.context import Context
from escrowmq.broker.delivery.draft import Draft
from escrowmq.broker.outcome import Outcome, WhenDurable
from escrowmq.broker.ports import AppendedMessage, ClientRequest
from escrowmq.broker.refusal import Refused
from escrowmq.errors import BadHeader, StoreError
from escrowmq.model import names
from escrowmq.model.message_id import log_offset_of
from escrowmq.model.topic import Permission
from escrowmq.protocol import properties
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.end_transaction import COMMIT, ROLLBACK, EndTransaction, ResumeCheck
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.ports import Transaction
from escrowmq.transaction.preparing import TRANSACTION_BITS, half_properties, is_same_prepare, refuse
from escrowmq.transaction.resuming import resume
from escrowmq.transaction.room import Identity, Planned
from escrowmq.transaction.ruling import End
from escrowmq.transaction.topics import HALF_QUEUE_ID, HALF_TOPIC

_DECISIONS: Final = {COMMIT: Decision.COMMIT, ROLLBACK: Decision.ROLLBACK}
# Compat: the sign is not part of a checksum.
_CRC_MASK: Final = 0x7FFF_FFFF

_log = structlog.get_logger()


def prepare(context: Context, draft: Draft) -> Append:
    """A send that is part of a transaction: appends it as a half message, or finds that it is there already.

    Raises:
        Refused: It is none that can be decided later.
    """
    config, room = context.settings.broker, context.transactions
    if not config.takes_transactions:
        raise Refused(
            ResponseCode.NO_PERMISSION, f"the broker[{config.advertise}] sending transaction message is forbidden"
        )
    topic = context.topics.find(draft.topic)
    if topic is None or not topic.permissions & Permission.WRITE:
        raise Refused(ResponseCode.NO_PERMISSION, f"the topic[{draft.topic}] sending message is forbidden")
    pairs = half_properties(draft.properties, topic=draft.topic, queue_id=draft.queue_id)
    remark = refuse(pairs)
    if remark is not None:
        raise Refused(ResponseCode.MESSAGE_ILLEGAL, remark)
    identity = (
        pairs[properties.PRODUCER_GROUP],
        pairs[properties.UNIQUE_KEY],
        draft.topic,
        zlib.crc32(draft.body) & _CRC_MASK,
    )
    known = _known(context, identity)
    if known is not None:
        # As it was answered the first time, when all of it is durable.
        return Append([], lambda _: _prepared(context, draft, known.log_offset, known.half_offset, context.log_end()))
    first = room.planned.get(identity)
    if first is not None:
        return Append([], lambda _: _prepared_before(context, draft, first))
    planned = room.planned[identity] = Planned()

    def stored(receipts: Sequence[AppendedMessage]) -> Outcome:
        del room.planned[identity]
        (planned.receipt,) = receipts
        room.counters.prepared[draft.topic] += 1
        return _prepared_before(context, draft, planned)

    def refused(code: ResponseCode, remark: str) -> Answer:
        del room.planned[identity]
        return Answer(code, remark, context.stamp.answer_fields())

    half = replace(
        draft,
        topic=HALF_TOPIC,
        queue_id=HALF_QUEUE_ID,
        properties=pairs,
        sys_flag=draft.sys_flag & ~TRANSACTION_BITS,
    )
    return Append([half.to_message()], stored, refused)


def ordinary_queues(context: Context, topic: str) -> int:
    """How many queues a topic has whose prepares are taken without a closer look; 0 where one is needed."""
    found = context.topics.find(topic)
    is_ordinary = (
        context.settings.broker.takes_transactions
        and found is not None
        and found.permissions & Permission.WRITE
        and not found.is_ordered
        and topic not in names.UNSENDABLE_TOPICS
        and not topic.startswith(names.SYSTEM_PREFIX)
        and names.refuse_topic(topic) is None
    )
    return max(found.read_queues, found.write_queues) if found is not None and is_ordinary else 0


def end(context: Context, requests: Sequence[ClientRequest]) -> list[Outcome]:
    """END_TRANSACTION, a batch of decisions. Compat: who does not want an answer gets none; who does gets one."""
    read = zip(requests, _core.read_decisions(requests), strict=True)
    ends = [_end(request) if said is None else _plain_end(request.peer, said) for request, said in read]
    try:
        settled = iter(context.transactions.ending.end([end for end in ends if isinstance(end, End)]))
    except StoreError as error:
        refusal = Answer(ResponseCode.SERVICE_NOT_AVAILABLE, f"service not available now: {error}")
        return [refusal if isinstance(end, End) else end for end in ends]
    outcomes: list[Outcome] = []
    last: object = None
    outcome: Outcome = Answer()
    for ended in ends:
        if isinstance(ended, Answer):
            outcomes.append(ended)
            continue
        found = next(settled)
        # Most of a batch are settled alike, and share an answer.
        if found is not last:
            answer = Answer(found.code, found.remark)
            outcome = WhenDurable(answer, found.end_offset, is_of_transaction=True) if found.end_offset else answer
            last = found
        outcomes.append(outcome)
    return outcomes


def resume_check(context: Context, request: ClientRequest) -> Outcome:
    """RESUME_CHECK_HALF_MESSAGE: brings a discarded transaction back."""
    header, room = decode_header(ResumeCheck, request.ext_fields), context.transactions
    try:
        log_offset = log_offset_of(header.message_id)
    except ValueError as error:
        return Answer(ResponseCode.SYSTEM_ERROR, str(error))
    remark, end_offset = resume(log_offset, room.index, room.records, room.journal)
    if remark is not None:
        return Answer(ResponseCode.SYSTEM_ERROR, remark)
    return WhenDurable(Answer(), end_offset, is_of_transaction=True) if end_offset else Answer()


def _plain_end(peer: str, said: tuple[str, int, int, int, bool]) -> End:
    group, half_offset, log_offset, commit_or_rollback, is_from_check = said
    return End(
        group=group,
        half_offset=half_offset,
        log_offset=log_offset,
        decision=_DECISIONS.get(commit_or_rollback),
        who=f"check {peer}" if is_from_check else peer,
        is_from_check=is_from_check,
    )


def _end(request: ClientRequest) -> End | Answer:
    try:
        header = decode_header(EndTransaction, request.ext_fields)
    except BadHeader as error:
        _log.warning("request refused", code=request.code, peer=request.peer, reason=str(error))
        return Answer(ResponseCode.SYSTEM_ERROR, str(error))
    said = (
        header.producer_group,
        header.half_offset,
        header.log_offset,
        header.commit_or_rollback,
        header.is_from_check,
    )
    return _plain_end(request.peer, said)


def _known(context: Context, identity: Identity) -> Transaction | None:
    """The transaction that a prepare is for that was taken before, and is sent again since its answer was lost."""
    group, unique_id, topic, body_crc = identity
    known = context.transactions.index.find_undecided(group, unique_id)
    if known is None:
        return None
    is_same = is_same_prepare(known, group=group, topic=topic, body_crc=body_crc, now_ms=context.wall_ms())
    return known if is_same else None


def _prepared_before(context: Context, draft: Draft, planned: Planned) -> Outcome:
    """The answer to a prepare that is in a batch, once more or for the first time."""
    receipt = planned.receipt
    if receipt is None:
        return Answer(
            ResponseCode.SYSTEM_ERROR, "the same prepare was refused just before", context.stamp.answer_fields()
        )
    return _prepared(context, draft, receipt.log_offset, receipt.queue_offset, receipt.end_offset)


def _prepared(context: Context, draft: Draft, log_offset: int, half_offset: int, end_offset: int) -> Outcome:
    fields = {
        **context.stamp.answer_fields(),
        "msgId": context.stamp.message_id(log_offset),
        # Compat: the queue that was asked for, and the place among the half messages.
        "queueId": str(draft.queue_id),
        "queueOffset": str(half_offset),
        "transactionId": draft.properties[properties.UNIQUE_KEY],
    }
    return WhenDurable(Answer(ext_fields=fields), end_offset, is_of_transaction=True)
