"""The bodies of GET_CONSUMER_STATUS_FROM_CLIENT and INVOKE_BROKER_TO_GET_CONSUMER_STATUS: what consumers have read."""

from collections.abc import Mapping

from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol import fastjson, object_keys
from escrowmq.protocol.queue_tables import decode_queue_table


def decode_client_status(body: bytes | memoryview) -> dict[MessageQueue, int]:
    """Reads what one consumer says: offsets by queue.

    Raises:
        BadBody: It is none.
    """
    return decode_queue_table(body, int, name="messageQueueTable", size_max_bytes=object_keys.SIZE_MAX_BYTES)


def encode_consumer_status(consumers: Mapping[str, Mapping[MessageQueue, int]]) -> bytes:
    """What all consumers said, by the id of their client."""
    tables = (
        fastjson.encode_strict(client_id) + b":" + object_keys.encode_map(offsets.items())
        for client_id, offsets in consumers.items()
    )
    return b'{"consumerTable":{%s},"messageQueueTable":{}}' % b",".join(tables)


def encode_client_status(offsets: Mapping[MessageQueue, int]) -> bytes:
    """What one consumer says: offsets by queue."""
    return b'{"messageQueueTable":%s}' % object_keys.encode_map(offsets.items())
