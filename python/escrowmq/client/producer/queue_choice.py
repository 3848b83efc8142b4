"""Which queue a message goes to: each in turn, not where the last try failed, or where its key says."""

import itertools
from collections.abc import Callable, Collection, Sequence
from typing import Final, TypeAlias

from escrowmq._core import Message
from escrowmq.model.message_queue import MessageQueue

Selector: TypeAlias = Callable[[Sequence[MessageQueue], Message], MessageQueue]
"""A user's choice among the queues of the topic."""

_HASH_BITS: Final = 32
_HASH_FACTOR: Final = 31


class Turns:
    """Each topic's queues in turn, beginning anywhere. Any thread may ask."""

    def __init__(self) -> None:
        self._counts: dict[str, itertools.count[int]] = {}

    def choose(self, topic: str, queues: Sequence[MessageQueue], *, avoided: Collection[str] = ()) -> MessageQueue:
        """The next queue; one of a broker that is to be avoided only where all are."""
        counts = self._counts.get(topic)
        if counts is None:
            counts = self._counts.setdefault(topic, itertools.count(hash(topic) & 0xFFFF))
        for _ in range(len(queues) if avoided else 0):
            queue = queues[next(counts) % len(queues)]
            if queue.broker_name not in avoided:
                return queue
        return queues[next(counts) % len(queues)]


def by_key(key: str, queues: Sequence[MessageQueue]) -> MessageQueue:
    """The queue of a key, the same as long as there are as many. Compat: that of Java's `SelectMessageQueueByHash`."""
    value = java_hash(key)
    # Compat: Java's remainder has the sign of what is divided, and the sign is dropped.
    return queues[abs(value) % len(queues)]


def java_hash(text: str) -> int:
    """The hash of a text in Java."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (_HASH_FACTOR * value + (high << 8 | low)) & 0xFFFF_FFFF
    return value - (1 << _HASH_BITS) if value >> (_HASH_BITS - 1) else value
