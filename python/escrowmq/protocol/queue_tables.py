"""Tables by queue: their keys are objects, which no JSON but Java's has."""

from typing import Final, TypeVar

import msgspec

from escrowmq.errors import BadBody
from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol import fastjson, object_keys

ANSWER_SIZE_MAX_BYTES: Final = 16 * 1024 * 1024
"""A frame's size: whoever asks a server chose whom to ask. What servers read is bounded more tightly."""

Value = TypeVar("Value")


def decode_queue_table(
    body: bytes | memoryview,
    kind: type[Value],
    *,
    name: str = "offsetTable",
    size_max_bytes: int = ANSWER_SIZE_MAX_BYTES,
) -> dict[MessageQueue, Value]:
    """Reads the table of a name from a body; none where the body has no such table.

    Raises:
        BadBody: It is none.
    """
    fields = fastjson.decode(object_keys.with_text_keys(body, size_max_bytes=size_max_bytes), dict)
    try:
        table = msgspec.convert(fields.get(name, {}), dict[str, kind])  # type: ignore[valid-type]
        return {msgspec.json.decode(queue, type=MessageQueue): value for queue, value in table.items()}
    except msgspec.MsgspecError as error:
        raise BadBody(f"the body has a table {name} that is none of queues: {error}") from error
