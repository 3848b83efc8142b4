"""The bodies of GET_CONSUMER_STATUS_FROM_CLIENT and INVOKE_BROKER_TO_GET_CONSUMER_STATUS: what consumers have read."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct, field

from escrowmq.errors import BadBody
from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol import fastjson, object_keys


class _ClientStatus(Struct, frozen=True):
    offsets: dict[str, int] = field(default_factory=dict, name="messageQueueTable")


def decode_client_status(body: bytes | memoryview) -> dict[MessageQueue, int]:
    """Reads what one consumer says: offsets by queue.

    Raises:
        BadBody: It is none.
    """
    status = fastjson.decode(object_keys.with_text_keys(body), _ClientStatus)
    try:
        return {msgspec.json.decode(queue, type=MessageQueue): offset for queue, offset in status.offsets.items()}
    except msgspec.DecodeError as error:
        raise BadBody(f"the body has a queue that is none: {error}") from error


def encode_consumer_status(consumers: Mapping[str, Mapping[MessageQueue, int]]) -> bytes:
    """What all consumers said, by the id of their client."""
    tables = (
        fastjson.encode_strict(client_id) + b":" + object_keys.encode_map(offsets.items())
        for client_id, offsets in consumers.items()
    )
    return b'{"consumerTable":{%s},"messageQueueTable":{}}' % b",".join(tables)
