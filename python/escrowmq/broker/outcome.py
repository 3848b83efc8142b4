"""What becomes of a request.

It is answered, now or when something is on disk, or runs through the fast lane once more, or clients are asked first.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Final, TypeAlias

from msgspec import Struct

from escrowmq import _core
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode


class Retry(Struct, frozen=True):
    """The fast lane is to look again, since what it missed is there now."""


RETRY: Final = Retry()


class WhenDurable(Struct, frozen=True):
    """An answer to what was appended: it goes out when the log is durable, and visible, up to `end_offset`.

    If that takes too long, `late_code` and `late_remark` stand in for its code and remark. In async mode nothing waits.
    """

    answer: Answer
    end_offset: int
    late_code: int = ResponseCode.FLUSH_DISK_TIMEOUT
    late_remark: str | None = None


class Notice(Struct, frozen=True):
    """A request of ours to a client."""

    connection: int
    code: int
    ext_fields: Mapping[str, str]
    body: bytes = b""


class Silence(Enum):
    """Why a client has not replied."""

    LATE = auto()
    GONE = auto()


Reply: TypeAlias = Answer | Silence


class Forward(Struct, frozen=True):
    """Clients are asked first, and what they reply becomes the answer; silence counts as a reply when time is up."""

    questions: Sequence[Notice]
    finish: Callable[[Sequence[Reply]], Answer | WhenDurable]
    wait_ms: int


Outcome: TypeAlias = Answer | WhenDurable | Retry | Forward | _core.Answer
