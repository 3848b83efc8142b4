"""How a ledger is kept, and what it says of itself."""

from typing import Protocol

from msgspec import Struct

from escrowmq._core import Message


class Sender(Protocol):
    """What sends a message and knows that it is stored: a producer."""

    def send(self, message: Message, /) -> object:
        """Returns when it is acknowledged, and raises where it is not."""


class LedgerOptions(Struct, frozen=True, kw_only=True):
    """How both sides keep the ledger."""

    interval_s: float = 5.0
    """How often is looked for what is to be reported, or to be sent again."""
    circle_min_s: float = 60.0
    """How long a message may take until it is confirmed before it is sent again, however fast others are."""
    circle_factor: float = 2.0
    """How much longer than the average a message may take."""
    longest_transaction_s: float = 900.0
    """How long a consumer's transaction may be open: a row that is committed late is not missed."""
    batch_max: int = 500
    """Rows that are looked at together."""


class SentStatus(Struct, frozen=True):
    """The producer's side."""

    confirmed: int
    unconfirmed: int
    sent_again: int
    """Sends beside the first one of each message."""
    average_circle_ms: int | None
    """How long a message takes from its sending to its confirmation; None until one was confirmed."""
    oldest_unconfirmed_ms: int | None
    """How long ago the oldest one was sent last that is not confirmed."""


class ConsumedStatus(Struct, frozen=True):
    """A consumer group's side."""

    group: str
    consumed: int
    unreported: int
    last_check_ms: int | None
    """When was reported last; None for never."""
