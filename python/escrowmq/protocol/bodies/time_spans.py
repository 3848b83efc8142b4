"""The body that answers QUERY_CONSUME_TIME_SPAN.

Fields stand in the order in which Java writes them; each time stands there a second time for people.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol import fastjson


class TimeSpan(Struct, frozen=True):
    """From when to when the messages of a queue are, and how far a group is; -1 where there is no message."""

    queue: MessageQueue
    first_ms: int
    last_ms: int
    consumed_ms: int
    delay_ms: int


def encode_time_spans(spans: Sequence[TimeSpan]) -> bytes:
    """The spans of all queues of a topic."""
    rows = [
        {
            "consumeTimeStamp": span.consumed_ms,
            "consumeTimeStampStr": _text(span.consumed_ms),
            "delayTime": span.delay_ms,
            "maxTimeStamp": span.last_ms,
            "maxTimeStampStr": _text(span.last_ms),
            "messageQueue": span.queue,
            "minTimeStamp": span.first_ms,
            "minTimeStampStr": _text(span.first_ms),
        }
        for span in spans
    ]
    return fastjson.encode_strict({"consumeTimeSpanSet": rows})


def _text(time_ms: int) -> str:
    moment = datetime.fromtimestamp(time_ms // 1_000).astimezone()
    return f"{moment:%Y-%m-%d#%H:%M:%S}:{time_ms % 1_000:03}"
