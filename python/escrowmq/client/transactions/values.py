"""What a producer says of its transactions, and what is said to it."""

from enum import Enum

from msgspec import Struct

from escrowmq._core import Message, Record
from escrowmq.client.producer.results import SendResult
from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol import properties


class Decision(Enum):
    """What is to become of a message."""

    COMMIT = "commit"
    """Consumers get it."""
    ROLLBACK = "rollback"
    """There is no message."""
    UNKNOWN = "unknown"
    """Nobody knows yet: the broker asks later."""


class Ended(Enum):
    """What came of telling a broker a decision."""

    SETTLED = "settled"
    """The broker has it on disk."""
    TOLD = "told"
    """Nobody knows yet, and the broker was told so; it does not answer that."""
    CONTRADICTED = "contradicted"
    """It was decided otherwise before; that stays."""
    DISCARDED = "discarded"
    """The broker has given the transaction up; `resume` brings it back."""
    MISSING = "missing"
    """The broker has no such half message."""
    REFUSED = "refused"
    """The broker refuses for another reason."""
    UNREACHABLE = "unreachable"
    """The broker can't be reached or does not answer: it will ask."""


class Prepared(Struct, frozen=True):
    """A half message that a broker has: on disk, and seen by no consumer until it is decided."""

    message: Message
    broker_name: str
    queue: MessageQueue
    """Where the message goes when it is committed."""
    half_offset: int
    log_offset: int
    transaction_id: str


class HalfMessage(Struct, frozen=True):
    """What a broker asks about: a half message that nobody has decided."""

    topic: str
    body: bytes
    tags: str | None
    keys: list[str]
    properties: dict[str, str]
    transaction_id: str
    born_timestamp_ms: int
    checks_so_far: int
    """How often the broker has asked, this time included."""


class TransactionResult(Struct, frozen=True):
    """What came of a message that was sent in a transaction."""

    sent: SendResult
    """The half message."""
    local_state: Decision
    """What the local transaction came to."""
    ended: Ended
    """Whether the broker knows it."""
    error: Exception | None = None
    """What the listener raised."""


def half_message(record: Record) -> HalfMessage:
    """The half message in a question.

    Raises:
        BadBody: It is compressed, and can't be read.
    """
    pairs = record.properties
    times = pairs.get(properties.CHECK_TIMES, "")
    return HalfMessage(
        topic=record.topic,
        body=record.decoded_body(),
        tags=pairs.get(properties.TAGS),
        keys=pairs.get(properties.KEYS, "").split(),
        properties=pairs,
        transaction_id=pairs.get(properties.UNIQUE_KEY) or pairs.get(properties.TRANSACTION_ID, ""),
        born_timestamp_ms=record.born_timestamp_ms,
        checks_so_far=int(times) if times.isdigit() else 0,
    )
