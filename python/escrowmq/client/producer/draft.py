"""A message as it is sent: checked, and with an id that stays the same however often it is tried."""

from collections.abc import Sequence
from functools import lru_cache

from escrowmq._core import Message, OutgoingMessage
from escrowmq.client.producer.options import ProducerOptions
from escrowmq.client.producer.unique_ids import unique_id
from escrowmq.errors import Unsendable
from escrowmq.model import names
from escrowmq.protocol.properties import DELAY, TIMERS


def draft(
    message: Message,
    *,
    group: str,
    options: ProducerOptions,
    more: dict[str, str] | None = None,
    is_prepared: bool = False,
) -> OutgoingMessage:
    """A message of its own; `more` are properties that come on top, and a prepared one waits for its decision.

    Raises:
        Unsendable: No broker would take it.
    """
    check_topic(message.topic)
    return OutgoingMessage(
        message,
        group=group,
        message_id=unique_id(),
        size_max_bytes=options.message_size_max_bytes,
        compress_from_bytes=options.compress_from_bytes,
        compression=options.compression,
        compression_level=options.compression_level,
        template_topic=options.template_topic,
        new_topic_queues=options.new_topic_queues,
        properties=more,
        is_prepared=is_prepared,
    )


def draft_batch(messages: Sequence[Message], *, group: str, options: ProducerOptions) -> OutgoingMessage:
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
    for message in messages:
        _check_batchable(message, topic)
    return OutgoingMessage.batch(
        messages,
        group=group,
        message_ids=[unique_id() for _ in messages],
        size_max_bytes=options.message_size_max_bytes,
        template_topic=options.template_topic,
        new_topic_queues=options.new_topic_queues,
    )


@lru_cache(maxsize=1_024)
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


def _check_batchable(message: Message, topic: str) -> None:
    if message.topic != topic:
        reason = f"a batch for the topics {topic!r} and {message.topic!r}"
        raise Unsendable(reason, field="topic", found=message.topic, limit=None)
    pairs = message.properties
    late = next((name for name in (DELAY, *TIMERS) if name in pairs), None)
    if late is not None:
        raise Unsendable(f"a batch with a message for later ({late})", field=late, found=pairs[late], limit=None)
