"""Messages by a key or by their place in the log, as they stand there. What does not fit into a frame is left out."""

from collections.abc import Sequence
from typing import Final

from escrowmq.broker.context import Context
from escrowmq.broker.ports import ClientRequest, StoredRecord
from escrowmq.errors import NoRecord
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.query_message import QueryMessage
from escrowmq.protocol.headers.view_message import ViewMessage
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode

COUNT_MAX: Final = 64
"""Most messages of an answer. RocketMQ's is the same."""
UNIQUE_COUNT_MAX: Final = 32
"""The same for a producer's id, of which there should be one; whoever asks for it can't say how many."""

# What tells a tag from a key in the key index.
_TAG_PREFIX: Final = "T#"


def query(context: Context, request: ClientRequest) -> Answer:
    """QUERY_MESSAGE: the newest messages of a topic with a key, oldest first."""
    header = decode_header(QueryMessage, request.ext_fields)
    count_max = UNIQUE_COUNT_MAX if header.is_by_unique_key else min(header.count_max, COUNT_MAX)
    found = context.store.find_by_key(
        header.topic,
        _TAG_PREFIX + header.key if header.is_by_tag else header.key,
        count_max=max(0, count_max),
        begin_ms=header.begin_ms,
        end_ms=header.end_ms,
    )
    body = b"".join(reversed(_fitting(found, context.answer_size_max_bytes)))
    if not body:
        return Answer(
            ResponseCode.QUERY_NOT_FOUND,
            "can not find message, maybe time range not correct",
            ext_fields=_index_end(None),
        )
    return Answer(ext_fields=_index_end(context.store.key_index_end()), body=body)


def view(context: Context, request: ClientRequest) -> Answer:
    """VIEW_MESSAGE_BY_ID: the message that begins at a log offset."""
    header = decode_header(ViewMessage, request.ext_fields)
    try:
        if header.log_offset >= 0:
            return Answer(body=bytes(context.store.record_at(header.log_offset).bytes))
    except NoRecord:
        pass
    return Answer(ResponseCode.SYSTEM_ERROR, f"can not find message by the offset, {header.log_offset}")


def _fitting(found: Sequence[StoredRecord], size_max_bytes: int) -> list[bytes | memoryview]:
    """As many of the first records as fit."""
    fitting: list[bytes | memoryview] = []
    for record in found:
        size_max_bytes -= len(record.bytes)
        if size_max_bytes < 0:
            break
        fitting.append(record.bytes)
    return fitting


def _index_end(end: tuple[int, int] | None) -> dict[str, str]:
    log_offset, store_timestamp_ms = end or (0, 0)
    return {
        "indexLastUpdatePhyoffset": str(log_offset),
        "indexLastUpdateTimestamp": str(store_timestamp_ms),
    }
