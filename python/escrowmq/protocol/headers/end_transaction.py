"""END_TRANSACTION (37) and RESUME_CHECK_HALF_MESSAGE (323)."""

from typing import Final

from msgspec import Struct, field

from escrowmq.protocol.headers.decoding import Long

COMMIT: Final = 8
ROLLBACK: Final = 12


class EndTransaction(Struct, frozen=True):
    """Fields of END_TRANSACTION."""

    producer_group: str = field(name="producerGroup")
    half_offset: Long = field(name="tranStateTableOffset")
    log_offset: Long = field(name="commitLogOffset")
    commit_or_rollback: int = field(name="commitOrRollback")
    message_id: str = field(name="msgId")
    is_from_check: bool = field(default=False, name="fromTransactionCheck")
    transaction_id: str = field(default="", name="transactionId")
    topic: str = ""
    broker_name: str = field(default="", name="bname")


class ResumeCheck(Struct, frozen=True):
    """Fields of RESUME_CHECK_HALF_MESSAGE."""

    message_id: str = field(name="msgId")
    topic: str = ""
