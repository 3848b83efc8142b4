"""Transactions: which are pending, how the others ended; decided by force, or given another chance."""

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from escrowmq.admin.client import Admin
from escrowmq.errors import NotThere
from escrowmq.protocol.bodies.transactions import TransactionList, TransactionRow, decode_transactions
from escrowmq.protocol.headers.end_transaction import ResumeCheck
from escrowmq.protocol.headers.transactions import DecideTransaction, ListTransactions
from escrowmq.protocol.question import Question
from escrowmq.protocol.request_codes import RequestCode

State: TypeAlias = Literal["pending", "decided"]
Decision: TypeAlias = Literal["commit", "rollback"]

PAGE_COUNT: Final = 500


class KnownTransaction(Struct, frozen=True, kw_only=True):
    """A transaction on one broker. What is not known is None."""

    transaction_id: str
    broker: str
    group: str
    topic: str
    queue_id: int
    state: str
    checks: int
    prepared_at_ms: int
    decided_at_ms: int | None
    decided_by: str | None
    half_offset: int
    log_offset: int
    final_log_offset: int | None


class TransactionCounts(Struct, frozen=True, kw_only=True):
    """How many transactions a broker has."""

    broker: str
    pending: int
    decided: int
    oldest_pending_at_ms: int | None


def list_transactions(
    admin: Admin, brokers: dict[str, str], *, state: State = "pending", group: str | None = None, count_max: int
) -> list[KnownTransaction]:
    """Pending ones in the order of their last questions, or decided ones, the last first; of each broker so many."""
    return [
        _known(broker, row)
        for broker, address in brokers.items()
        for row in _rows(admin, address, state=state, group=group, count_max=count_max)
    ]


def find_transaction(admin: Admin, brokers: dict[str, str], transaction_id: str) -> list[KnownTransaction]:
    """All with an id; a producer that used it more than once has several.

    Raises:
        NotThere: There is none.
    """
    found = [
        _known(broker, row)
        for broker, address in brokers.items()
        for row in _ask(admin, address, ListTransactions("pending", transaction_id=transaction_id)).transactions
    ]
    if not found:
        raise NotThere(f"there is no transaction {transaction_id!r}", kind="transaction", name=transaction_id)
    return found


def count_transactions(admin: Admin, brokers: dict[str, str]) -> list[TransactionCounts]:
    """How many each broker has."""
    counts = []
    for broker, address in brokers.items():
        found = _ask(admin, address, ListTransactions("pending", count_max=1))
        counts.append(
            TransactionCounts(
                broker=broker,
                pending=found.pending,
                decided=found.decided,
                oldest_pending_at_ms=found.oldest_prepared_ms,
            )
        )
    return counts


def decide(admin: Admin, address: str, transaction: KnownTransaction, decision: Decision, *, who: str) -> None:
    """Decides by force, which is written down.

    Raises:
        Refused: It was decided otherwise.
    """
    header = DecideTransaction(transaction.half_offset, transaction.log_offset, decision, who)
    admin.ask(address, Question(RequestCode.ESCROWMQ_DECIDE_TRANSACTION, header))


def resume(admin: Admin, address: str, offset_message_id: str) -> None:
    """Gives a transaction another chance that was given up; the id is that of its message in the discard topic.

    Raises:
        Refused: There is no such message.
    """
    admin.ask(address, Question(RequestCode.RESUME_CHECK_HALF_MESSAGE, ResumeCheck(offset_message_id)))


def _rows(admin: Admin, address: str, *, state: State, group: str | None, count_max: int) -> Iterator[TransactionRow]:
    """Page by page, up to so many."""
    next_half: int | None = 0
    while next_half is not None and count_max > 0:
        page = _ask(
            admin,
            address,
            ListTransactions(state, group=group, from_half_offset=next_half, count_max=min(count_max, PAGE_COUNT)),
        )
        yield from page.transactions
        count_max -= len(page.transactions)
        next_half = page.next_half_offset


def _ask(admin: Admin, address: str, header: ListTransactions) -> TransactionList:
    return decode_transactions(admin.ask(address, Question(RequestCode.ESCROWMQ_LIST_TRANSACTIONS, header)).body)


def _known(broker: str, row: TransactionRow) -> KnownTransaction:
    return KnownTransaction(
        transaction_id=row.transaction_id,
        broker=broker,
        group=row.group,
        topic=row.topic,
        queue_id=row.queue_id,
        state=row.state,
        checks=row.checks,
        prepared_at_ms=row.prepared_ms,
        decided_at_ms=row.decided_ms,
        decided_by=row.decided_by,
        half_offset=row.half_offset,
        log_offset=row.log_offset,
        final_log_offset=row.final_log_offset,
    )
