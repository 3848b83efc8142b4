"""The body that a consumer answers CONSUME_MESSAGE_DIRECTLY with: what became of the message."""

import msgspec
from msgspec import Struct, field

from escrowmq.protocol import fastjson


class ConsumeResult(Struct, frozen=True):
    """How it ended, in RocketMQ's words, and how long it took."""

    result: str = field(default="", name="consumeResult")
    remark: str | None = None
    spent_ms: int = field(default=0, name="spentTimeMills")


def decode_consume_result(body: bytes | memoryview) -> ConsumeResult:
    """Reads the answer.

    Raises:
        BadBody: It is none.
    """
    return fastjson.decode(body, ConsumeResult)


def encode_consume_result(result: ConsumeResult, *, is_orderly: bool) -> bytes:
    """The answer, as a consumer gives it."""
    return fastjson.encode_strict({"autoCommit": True, "order": is_orderly, **msgspec.to_builtins(result)})
