"""What a consumer wants of a topic, from the text that a user writes; and the second look at what the broker sent.

A broker goes by hashes of tags, and two tags may have one.
"""

import struct
from collections.abc import Callable
from typing import Final

from escrowmq._core import Record
from escrowmq.model import names
from escrowmq.model.subscription import ALL_TAGS, SQL92, TAG, Subscription
from escrowmq.protocol.properties import TAGS

_SEPARATOR: Final = "||"


def subscription(topic: str, tags: str, sql: str, *, version: int) -> Subscription:
    """What is wanted of a topic, by tags or by properties.

    Raises:
        ValueError: The name is none that a topic can have, the expression none of tags, or both are given.
    """
    if (refusal := names.refuse_topic(topic)) is not None:
        raise ValueError(refusal)
    if not sql:
        return by_tags(topic, tags, version=version)
    if tags not in ("", ALL_TAGS):
        raise ValueError(f"messages of {topic} are wanted by tags or by properties, not by both")
    return by_properties(topic, sql, version=version)


def by_tags(topic: str, expression: str = ALL_TAGS, *, version: int) -> Subscription:
    """Messages with one of some tags, `paid || shipped`; all of them without an expression.

    Raises:
        ValueError: The expression has no tag.
    """
    if expression in ("", ALL_TAGS):
        return Subscription(topic=topic, version=version)
    tags = [tag for part in expression.split(_SEPARATOR) if (tag := part.strip())]
    if not tags:
        raise ValueError(f"{expression!r} is no expression of tags")
    return Subscription(topic=topic, expression=expression, tags=tags, codes=list(map(tag_code, tags)), version=version)


def by_properties(topic: str, expression: str, *, version: int) -> Subscription:
    """Messages whose properties make an SQL92 expression true."""
    return Subscription(topic=topic, expression=expression, expression_type=SQL92, version=version)


def second_look(subscription: Subscription) -> Callable[[Record], bool] | None:
    """Whether a message is wanted that the broker sent; None if all of them are."""
    tags = frozenset(subscription.tags)
    if subscription.expression_type != TAG or not tags:
        return None

    def is_wanted(record: Record) -> bool:
        return record.find_property(TAGS) in tags

    return is_wanted


def tag_code(tag: str) -> int:
    """Compat: Java's hash of a string."""
    code = 0
    for (unit,) in struct.iter_unpack("<H", tag.encode("utf-16-le", "surrogatepass")):
        code = (31 * code + unit) & 0xFFFF_FFFF
    return code - (1 << 32) if code >> 31 else code
