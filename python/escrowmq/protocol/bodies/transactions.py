"""The body that answers ESCROWMQ_LIST_TRANSACTIONS."""

import msgspec
from msgspec import Struct


class TransactionRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """A transaction, as an operator sees it. What is not known is None."""

    transaction_id: str
    group: str
    topic: str
    queue_id: int
    state: str
    checks: int
    prepared_ms: int
    decided_ms: int | None
    decided_by: str | None
    root_log_offset: int
    half_offset: int
    log_offset: int
    final_log_offset: int | None


class TransactionList(Struct, frozen=True, rename="camel"):
    """Transactions, how many there are in all, and from which half offset the list goes on.

    And when the oldest was prepared that is undecided, be it in the list or not.
    """

    transactions: list[TransactionRow]
    pending: int
    decided: int
    next_half_offset: int | None = None
    oldest_prepared_ms: int | None = None

    def encode(self) -> bytes:
        """As JSON."""
        return msgspec.json.encode(self)


def decode_transactions(body: bytes | memoryview) -> TransactionList:
    """Reads the body.

    Raises:
        msgspec.DecodeError: It is none.
    """
    return msgspec.json.decode(body, type=TransactionList)
