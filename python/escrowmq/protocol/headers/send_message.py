"""SEND_MESSAGE (10), SEND_MESSAGE_V2 (310) and SEND_BATCH_MESSAGE (320), as far as a topic has to be made for them.

The second form has a letter for each field, to make frames shorter.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.request_codes import RequestCode


class SendMessage(Struct, frozen=True):
    """Fields of SEND_MESSAGE."""

    topic: str
    default_topic: str = field(name="defaultTopic")
    default_topic_queues: int = field(name="defaultTopicQueueNums")
    properties: str = ""
    is_unit_mode: bool = field(default=False, name="unitMode")


class SendMessageV2(Struct, frozen=True):
    """The same fields of SEND_MESSAGE_V2."""

    topic: str = field(name="b")
    default_topic: str = field(name="c")
    default_topic_queues: int = field(name="d")
    properties: str = field(default="", name="i")
    is_unit_mode: bool = field(default=False, name="k")


def decode_send_message(code: int, ext_fields: Mapping[str, str]) -> SendMessage | SendMessageV2:
    """Reads the fields of a send, in the form that its code means.

    Raises:
        BadHeader: A field is missing, or is not of its type.
    """
    if code == RequestCode.SEND_MESSAGE:
        return decode_header(SendMessage, ext_fields)
    return decode_header(SendMessageV2, ext_fields)
