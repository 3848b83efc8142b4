"""SEND_MESSAGE (10), SEND_MESSAGE_V2 (310), SEND_BATCH_MESSAGE (320), SEND_REPLY_MESSAGE (324) and its V2 (325).

The second form has a letter for each field, to make frames shorter.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from escrowmq.protocol.headers.decoding import Int32, Long, decode_header
from escrowmq.protocol.request_codes import RequestCode


class SendMessage(Struct, frozen=True):
    """Fields of SEND_MESSAGE."""

    topic: str
    default_topic: str = field(name="defaultTopic")
    default_topic_queues: Int32 = field(name="defaultTopicQueueNums")
    queue_id: Int32 = field(name="queueId")
    system_flag: Int32 = field(name="sysFlag")
    born_timestamp_ms: Long = field(name="bornTimestamp")
    flag: Int32
    properties: str = ""
    reconsume_times: Int32 = field(default=0, name="reconsumeTimes")
    is_unit_mode: bool = field(default=False, name="unitMode")
    retries_max: Int32 | None = field(default=None, name="maxReconsumeTimes")
    is_batch: bool = field(default=False, name="batch")
    producer_group: str = field(default="", name="producerGroup")


class SendMessageV2(Struct, frozen=True):
    """The same fields of SEND_MESSAGE_V2."""

    topic: str = field(name="b")
    default_topic: str = field(name="c")
    default_topic_queues: Int32 = field(name="d")
    queue_id: Int32 = field(name="e")
    system_flag: Int32 = field(name="f")
    born_timestamp_ms: Long = field(name="g")
    flag: Int32 = field(name="h")
    properties: str = field(default="", name="i")
    reconsume_times: Int32 = field(default=0, name="j")
    is_unit_mode: bool = field(default=False, name="k")
    retries_max: Int32 | None = field(default=None, name="l")
    is_batch: bool = field(default=False, name="m")
    producer_group: str = field(default="", name="a")
    broker_name: str = field(default="", name="n")


class SendAnswer(Struct, frozen=True):
    """Where the message is; the id says it too."""

    message_id: str = field(name="msgId")
    queue_id: int = field(name="queueId")
    queue_offset: int = field(name="queueOffset")


def decode_send_message(code: int, ext_fields: Mapping[str, str]) -> SendMessage | SendMessageV2:
    """Reads the fields of a send, in the form that its code means.

    Raises:
        BadHeader: A field is missing, or is not of its type.
    """
    if code in {RequestCode.SEND_MESSAGE, RequestCode.SEND_REPLY_MESSAGE}:
        return decode_header(SendMessage, ext_fields)
    return decode_header(SendMessageV2, ext_fields)
