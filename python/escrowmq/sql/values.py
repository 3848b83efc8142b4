"""What the barrier is about, as values: the id of a crossing, the verdict over it, the message that waits for it."""

import secrets
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct, field

from escrowmq._core import Message
from escrowmq.protocol.properties import BARRIER, BARRIER_DATABASE

ID_LENGTH: Final = 32
_TIME_DIGITS: Final = 12


class Verdict(Enum):
    """What is known of a database transaction."""

    COMMITTED = "committed"
    ROLLED_BACK = "rolled_back"
    """It is not committed, and can't be any more."""
    UNKNOWN = "unknown"


class Result(Enum):
    """What became of a message."""

    WAITING = "waiting"
    """Its database transaction goes on."""
    COMMITTED = "committed"
    """The transaction is committed, and the broker delivers the message."""
    PENDING = "pending"
    """The broker will ask what became of the transaction, and the barrier answers."""
    ROLLED_BACK = "rolled_back"
    """Neither the change nor the message is."""


class BarrierKey(Struct, frozen=True):
    """Which row of the barrier a transaction has, and in which database. The group is the producer's."""

    id: str
    database_id: str
    group: str


class Draft(Struct, frozen=True):
    """A message as the user gave it; it becomes one when it is known behind which row it waits."""

    topic: str
    body: bytes
    tags: str | None = None
    keys: Sequence[str] = ()
    properties: Mapping[str, str] = field(default_factory=dict)

    def behind(self, key: BarrierKey) -> Message:
        """The message that waits behind a row."""
        named = {**self.properties, BARRIER: key.id, BARRIER_DATABASE: key.database_id}
        return Message(self.topic, self.body, tags=self.tags, keys=list(self.keys) or None, properties=named)


class Deposit:
    """A message in escrow: what `send` returns, and what tells in the end what became of it."""

    def __init__(self, draft: Draft) -> None:
        self.draft: Final = draft
        self.result = Result.WAITING

    def __repr__(self) -> str:
        return f"<Deposit for {self.draft.topic}: {self.result.value}>"


def new_id(now_ms: int) -> str:
    """An id that no other transaction has. Ids sort by the time they were made at, which is what sweeping goes by."""
    return f"{now_ms:0{_TIME_DIGITS}x}{secrets.token_hex((ID_LENGTH - _TIME_DIGITS) // 2)}"


def first_id(at_ms: int) -> str:
    """What no id made at this time or later is below."""
    return f"{max(at_ms, 0):0{_TIME_DIGITS}x}".ljust(ID_LENGTH, "0")


def new_database_id() -> str:
    """An id that no other database has."""
    return secrets.token_hex(ID_LENGTH // 2)
