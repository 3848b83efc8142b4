"""CHECK_TRANSACTION_STATE (39): a broker asks a producer about a half message."""

from msgspec import Struct, field

from escrowmq.protocol.headers.decoding import Long


class CheckTransaction(Struct, frozen=True):
    """Fields of the request."""

    half_offset: Long = field(name="tranStateTableOffset")
    log_offset: Long = field(name="commitLogOffset")
    message_id: str = field(default="", name="msgId")
    transaction_id: str = field(default="", name="transactionId")
    offset_message_id: str = field(default="", name="offsetMsgId")
    broker_name: str = field(default="", name="bname")
