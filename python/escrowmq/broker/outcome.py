"""What becomes of a request: an answer, now or when something is on disk, or another run through the fast lane."""

from typing import Final, TypeAlias

from msgspec import Struct

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


Outcome: TypeAlias = Answer | WhenDurable | Retry
