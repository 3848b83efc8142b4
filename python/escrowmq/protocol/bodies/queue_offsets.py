"""Offsets of queues: the answer to INVOKE_BROKER_TO_RESET_OFFSET, and the body of RESET_CONSUMER_CLIENT_OFFSET."""

from collections.abc import Mapping

from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol import fastjson, object_keys
from escrowmq.protocol.queue_tables import decode_queue_table


def encode_queue_offsets(offsets: Mapping[MessageQueue, int]) -> bytes:
    """Offsets by queue, as fastjson writes them."""
    return b'{"offsetTable":%s}' % object_keys.encode_map(offsets.items())


def encode_queue_offset_list(offsets: Mapping[MessageQueue, int]) -> bytes:
    """The same as a list, which is what clients in C++ read."""
    rows = [
        {"brokerName": queue.broker_name, "offset": offset, "queueId": queue.queue_id, "topic": queue.topic}
        for queue, offset in offsets.items()
    ]
    return fastjson.encode_strict({"offsetTable": rows})


def decode_queue_offsets(body: bytes | memoryview) -> dict[MessageQueue, int]:
    """Reads offsets by queue.

    Raises:
        BadBody: They are none.
    """
    return decode_queue_table(body, int)
