"""What becomes of a request: an answer, or another run through the fast lane."""

from typing import Final, TypeAlias

from msgspec import Struct

from escrowmq.protocol.messages import Answer


class Retry(Struct, frozen=True):
    """The fast lane is to look again, since what it missed is there now."""


RETRY: Final = Retry()

Outcome: TypeAlias = Answer | Retry
