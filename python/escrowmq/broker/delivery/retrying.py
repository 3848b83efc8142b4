"""Messages that consumers failed to consume: whether they are tried again, when, or not any more."""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from escrowmq.broker.delivery.draft import Draft
from escrowmq.broker.ports import StoredRecord
from escrowmq.model.subscription import SubscriptionGroup
from escrowmq.protocol import properties
from escrowmq.protocol.versions import RETRIES_IN_REQUEST

# A message that fails for the first time waits ten seconds, and each time longer.
FIRST_RETRY_LEVEL: Final = 3
DEAD_LETTER_QUEUES: Final = 1


class Retries(Struct, frozen=True):
    """How often a message was tried again, and how often it may be."""

    done: int
    max: int


def retries_max(group: SubscriptionGroup, *, client_version: int, asked: int | None) -> int:
    """How often messages of a group are tried again: as its client says, or as the group is configured."""
    if asked is not None and client_version >= RETRIES_IN_REQUEST:
        return asked
    return group.retries_max


def is_dead_when_sent(retries: Retries, *, has_locked_queues: bool) -> bool:
    """Whether a message that a client sends to the retry topic itself is a dead letter.

    Compat: so is any message of a group that consumes in order: it tries again on the spot, and sends what it gave up.
    """
    return has_locked_queues or retries.done > retries.max


def dead_letter(draft: Draft, topic: str, *, queue_id: int) -> Draft:
    """A message that a client sent, as a dead letter. Compat: its level says that it does not wait."""
    return replace(draft, topic=topic, queue_id=queue_id, properties={**draft.properties, properties.DELAY: "-1"})


def is_dead_when_given_back(retries: Retries, *, level: int) -> bool:
    """Whether a message that a client gives back is a dead letter; it may ask for that by a level below 0."""
    return level < 0 or retries.done >= retries.max


def retry_level(*, level: int, retries_done: int) -> int:
    """How long a message that was given back waits: as asked, or longer with each time."""
    return FIRST_RETRY_LEVEL + retries_done if level == 0 else level


def given_back(record: StoredRecord, topic: str, *, queue_id: int, level: int) -> Draft:
    """A message that was given back, as it goes to a queue of a retry or dead-letter topic.

    Its properties say which message it was at first.
    """
    pairs = record.properties
    return Draft(
        topic=topic,
        queue_id=queue_id,
        properties={
            **pairs,
            properties.RETRY_TOPIC: pairs.get(properties.RETRY_TOPIC, record.topic),
            properties.ORIGIN_MESSAGE_ID: pairs.get(properties.ORIGIN_MESSAGE_ID, "").strip()
            or record.offset_message_id,
            properties.WAIT: "false",
            properties.DELAY: str(level),
        },
        body=record.body,
        born_timestamp_ms=record.born_timestamp_ms,
        born_host=record.born_host,
        flag=record.flag,
        sys_flag=record.sys_flag,
        reconsume_times=record.reconsume_times + 1,
    )
