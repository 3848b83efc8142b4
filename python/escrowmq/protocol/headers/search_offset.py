"""SEARCH_OFFSET_BY_TIMESTAMP (29): the queue offset of a time."""

from msgspec import Struct, field

from escrowmq.protocol.headers.decoding import Long


class SearchOffset(Struct, frozen=True):
    """Fields of the request."""

    topic: str
    queue_id: int = field(name="queueId")
    timestamp_ms: Long = field(name="timestamp")
    boundary: str = field(default="LOWER", name="boundaryType")


class OffsetAnswer(Struct, frozen=True):
    """Fields of the answer to every question for an offset."""

    offset: Long
