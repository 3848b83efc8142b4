"""ESCROWMQ_LIST_TRANSACTIONS and ESCROWMQ_DECIDE_TRANSACTION, which RocketMQ does not have."""

from typing import Literal

from msgspec import Struct, field

from escrowmq.protocol.headers.decoding import Long


class ListTransactions(Struct, frozen=True):
    """Fields of ESCROWMQ_LIST_TRANSACTIONS."""

    state: Literal["pending", "decided"]
    group: str | None = None
    transaction_id: str | None = field(default=None, name="transactionId")
    from_half_offset: Long = field(default=0, name="fromHalfOffset")
    count_max: int = field(default=100, name="countMax")


class DecideTransaction(Struct, frozen=True):
    """Fields of ESCROWMQ_DECIDE_TRANSACTION."""

    half_offset: Long = field(name="halfOffset")
    log_offset: Long = field(name="logOffset")
    decision: Literal["commit", "rollback"]
    who: str = ""
