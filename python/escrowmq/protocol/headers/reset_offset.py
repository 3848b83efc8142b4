"""INVOKE_BROKER_TO_RESET_OFFSET (222): a group goes on where a queue was at a time, or at an offset."""

from msgspec import Struct, field

from escrowmq.protocol.headers.decoding import Long


class ResetOffset(Struct, frozen=True):
    """Fields of the request."""

    topic: str
    group: str
    timestamp_ms: Long = field(name="timestamp")
    queue_id: int = field(default=-1, name="queueId")
    offset: Long = -1
    is_forced: bool = field(default=False, name="isForce")
