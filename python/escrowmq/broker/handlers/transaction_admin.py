"""Transactions for operators: lists of them, and decisions that are forced."""

from collections.abc import Iterable, Sequence
from typing import Final

from escrowmq.broker.context import Context
from escrowmq.broker.outcome import Outcome, WhenDurable
from escrowmq.broker.ports import ClientRequest
from escrowmq.protocol.bodies.transactions import TransactionList, TransactionRow
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.transactions import DecideTransaction, ListTransactions
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.ports import Transaction
from escrowmq.transaction.ruling import End
from escrowmq.transaction.topics import HALF_TOPIC

COUNT_MAX: Final = 1_000

_DECISIONS: Final = {"commit": Decision.COMMIT, "rollback": Decision.ROLLBACK}


def list_some(context: Context, request: ClientRequest) -> Answer:
    """ESCROWMQ_LIST_TRANSACTIONS: pending ones in the order of their newest copies, or the last that were decided."""
    header, index = decode_header(ListTransactions, request.ext_fields), context.transactions.index
    count_max = max(0, min(header.count_max, COUNT_MAX))
    next_half: int | None = None
    found: Sequence[Transaction]
    if header.transaction_id is not None:
        found = _by_id(context, header.transaction_id)
    elif header.state == "decided":
        decided = index.decided(count_max=COUNT_MAX)
        found = [one for one in decided if header.group in (None, one.group)][:count_max]
    else:
        found = index.pending(group=header.group, from_half=max(0, header.from_half_offset), count_max=count_max)
        next_half = found[-1].half_offset + 1 if found and len(found) == count_max else None
    listed = TransactionList(
        _rows(found), index.pending_count, index.decided_count, next_half, index.oldest_root_store_ms
    )
    return Answer(body=listed.encode())


def decide(context: Context, request: ClientRequest) -> Outcome:
    """ESCROWMQ_DECIDE_TRANSACTION: an operator decides, and that is written down."""
    header, room = decode_header(DecideTransaction, request.ext_fields), context.transactions
    (found,) = room.index.find([(header.half_offset, header.log_offset)])
    if found is None:
        return Answer(ResponseCode.QUERY_NOT_FOUND, "there is no such transaction, or it was decided long ago")
    end = End(
        group=found.group,
        half_offset=header.half_offset,
        log_offset=header.log_offset,
        decision=_DECISIONS[header.decision],
        who=f"operator {header.who} {request.peer}",
        is_forced=True,
    )
    (settled,) = room.ending.end([end])
    answer = Answer(settled.code, settled.remark)
    return WhenDurable(answer, settled.end_offset, is_of_transaction=True) if settled.end_offset else answer


def _by_id(context: Context, transaction_id: str) -> list[Transaction]:
    """Those with an id, newest first; a producer that sends an id again makes several."""
    room = context.transactions
    halves = room.records.find_by_key(HALF_TOPIC, transaction_id)
    found = room.index.find([(half.queue_offset, half.log_offset) for half in halves])
    by_root = {one.root_log_offset: one for one in found if one is not None}
    return list(by_root.values())


def _rows(found: Iterable[Transaction]) -> list[TransactionRow]:
    return [
        TransactionRow(
            transaction_id=one.unique_id,
            group=one.group,
            topic=one.topic,
            queue_id=one.queue_id,
            state=one.state,
            checks=one.checks,
            prepared_ms=one.root_store_ms,
            decided_ms=one.decided_ms,
            decided_by=one.decided_by,
            root_log_offset=one.root_log_offset,
            half_offset=one.half_offset,
            log_offset=one.log_offset,
            final_log_offset=one.final_log_offset,
        )
        for one in found
    ]
