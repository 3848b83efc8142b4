"""A message as it is sent: checked, compressed, and with an id that stays the same however often it is tried."""

import struct
import zlib
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from escrowmq._core import Message
from escrowmq.client.producer.options import ProducerOptions
from escrowmq.client.producer.unique_ids import unique_id
from escrowmq.errors import Unsendable
from escrowmq.model import names
from escrowmq.protocol import properties as property_string
from escrowmq.protocol.headers.send_message import SendMessageV2
from escrowmq.protocol.properties import DELAY, TIMERS, UNIQUE_KEY, WAIT
from escrowmq.protocol.question import Question
from escrowmq.protocol.request_codes import RequestCode

PROPERTIES_SIZE_MAX: Final = 32_767
PREPARED: Final = 0x4
_COMPRESSED_BY_ZLIB: Final = 0x1 | 3 << 8
# Size, magic, checksum, flag and the length of the body; the length of the properties.
_BATCH_HEAD: Final = struct.Struct(">iiiii")
_BATCH_MIDDLE: Final = struct.Struct(">h")


class Draft(Struct, frozen=True):
    """What is sent, whatever the queue and the broker."""

    topic: str
    group: str
    message_id: str
    body: bytes
    properties: str
    system_flag: int
    flag: int
    born_timestamp_ms: int
    template_topic: str
    new_topic_queues: int
    is_batch: bool = False

    def question(self, queue_id: int, broker_name: str) -> Question:
        """The request that sends it."""
        header = SendMessageV2(
            producer_group=self.group,
            topic=self.topic,
            default_topic=self.template_topic,
            default_topic_queues=self.new_topic_queues,
            queue_id=queue_id,
            system_flag=self.system_flag,
            born_timestamp_ms=self.born_timestamp_ms,
            flag=self.flag,
            properties=self.properties,
            is_batch=self.is_batch,
            broker_name=broker_name,
        )
        code = RequestCode.SEND_BATCH_MESSAGE if self.is_batch else RequestCode.SEND_MESSAGE_V2
        return Question(code, header, self.body)


def draft(
    message: Message,
    *,
    group: str,
    options: ProducerOptions,
    more: dict[str, str] | None = None,
    is_prepared: bool = False,
) -> Draft:
    """A message of its own; `more` are properties that come on top, and a prepared one waits for its decision.

    Raises:
        Unsendable: No broker would take it.
    """
    check_topic(message.topic)
    body = message.body
    _check_size("body", len(body), options.message_size_max_bytes)
    pairs = {WAIT: "true", **message.properties, **(more or {})}
    if is_prepared:
        pairs = {name: value for name, value in pairs.items() if name != DELAY and name not in TIMERS}
    message_id = pairs.setdefault(UNIQUE_KEY, unique_id())
    system_flag = message.sys_flag | (PREPARED if is_prepared else 0)
    if options.compress_from_bytes is not None and len(body) >= options.compress_from_bytes:
        body = zlib.compress(body, options.compression_level)
        system_flag |= _COMPRESSED_BY_ZLIB
    return Draft(
        topic=message.topic,
        group=group,
        message_id=message_id,
        body=body,
        properties=_encoded(pairs),
        system_flag=system_flag,
        flag=message.flag,
        born_timestamp_ms=message.born_timestamp_ms,
        template_topic=options.template_topic,
        new_topic_queues=options.new_topic_queues,
    )


def draft_batch(messages: Sequence[Message], *, group: str, options: ProducerOptions) -> Draft:
    """Many messages that go to one queue in one request, all or none of them stored.

    Raises:
        Unsendable: No broker would take them together.
    """
    if not messages:
        raise Unsendable("a batch of no messages", field="messages", found=0, limit=None)
    topic = messages[0].topic
    check_topic(topic)
    if topic.startswith(names.RETRY_PREFIX):
        raise Unsendable(f"a batch for the retry topic {topic!r}", field="topic", found=topic, limit=None)
    parts: list[bytes] = []
    ids: list[str] = []
    for message in messages:
        pairs = message.properties
        _check_batchable(message, pairs, topic)
        ids.append(pairs.setdefault(UNIQUE_KEY, unique_id()))
        parts.append(_batch_entry(message.body, _encoded(pairs).encode(), message.flag))
    body = b"".join(parts)
    _check_size("messages", len(body), options.message_size_max_bytes)
    return Draft(
        topic=topic,
        group=group,
        message_id=",".join(ids),
        body=body,
        properties=_encoded({WAIT: "true"}),
        system_flag=0,
        flag=0,
        born_timestamp_ms=messages[0].born_timestamp_ms,
        template_topic=options.template_topic,
        new_topic_queues=options.new_topic_queues,
        is_batch=True,
    )


def check_topic(topic: str) -> None:
    """Refuses a name that no topic has, and topics that are the broker's own.

    Raises:
        Unsendable: It is one of these.
    """
    reason = names.refuse_topic(topic)
    if reason is not None:
        raise Unsendable(f"topic {topic!r}: {reason}", field="topic", found=topic, limit=names.TOPIC_LENGTH_MAX)
    if topic in names.UNSENDABLE_TOPICS:
        raise Unsendable(f"topic {topic!r} is the broker's own", field="topic", found=topic, limit=None)


def check_group(group: str) -> None:
    """Refuses a name that no group has.

    Raises:
        Unsendable: It is none.
    """
    reason = names.refuse_group(group)
    if reason is not None:
        raise Unsendable(f"group {group!r}: {reason}", field="group", found=group, limit=names.GROUP_LENGTH_MAX)


def _check_batchable(message: Message, pairs: dict[str, str], topic: str) -> None:
    if message.topic != topic:
        reason = f"a batch for the topics {topic!r} and {message.topic!r}"
        raise Unsendable(reason, field="topic", found=message.topic, limit=None)
    late = next((name for name in (DELAY, *TIMERS) if name in pairs), None)
    if late is not None:
        raise Unsendable(f"a batch with a message for later ({late})", field=late, found=pairs[late], limit=None)


def _batch_entry(body: bytes, properties: bytes, flag: int) -> bytes:
    size = _BATCH_HEAD.size + len(body) + _BATCH_MIDDLE.size + len(properties)
    head = _BATCH_HEAD.pack(size, 0, 0, flag, len(body))
    return b"".join((head, body, _BATCH_MIDDLE.pack(len(properties)), properties))


def _encoded(pairs: dict[str, str]) -> str:
    encoded = property_string.encode(pairs)
    _check_size("properties", len(encoded), PROPERTIES_SIZE_MAX)
    return encoded.decode()


def _check_size(field: str, found: int, limit: int) -> None:
    if found > limit:
        raise Unsendable(
            f"{field} of {found} bytes, at most {limit} are allowed", field=field, found=found, limit=limit
        )
