"""The body that answers GET_TOPIC_STATS_INFO: what the queues of a topic hold.

Compat: the keys of its table are objects, as Java's fastjson writes and reads them, which no other JSON is.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol import fastjson, object_keys
from escrowmq.protocol.queue_tables import decode_queue_table


class TopicOffset(Struct, frozen=True):
    """What a queue holds: the first offset, the one after the last, and when the last message was stored."""

    last_stored_at_ms: int = field(name="lastUpdateTimestamp")
    max_offset: int = field(name="maxOffset")
    min_offset: int = field(name="minOffset")


def encode_topic_stats(queues: Mapping[MessageQueue, TopicOffset], *, put_per_s: float) -> bytes:
    """The answer to GET_TOPIC_STATS_INFO."""
    table = object_keys.encode_map(queues.items())
    return b'{"offsetTable":%s,"topicPutTps":%s}' % (table, fastjson.encode_strict(put_per_s))


def decode_topic_stats(body: bytes | memoryview) -> dict[MessageQueue, TopicOffset]:
    """Reads the answer.

    Raises:
        BadBody: It is none.
    """
    return decode_queue_table(body, TopicOffset)
