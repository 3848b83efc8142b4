"""The way of every record of a transaction into the log: the index knows of it at once.

It knows too how far an Apache broker that takes over need not look: before the first half message that is live, and
before the first op record that names one behind it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import structlog

from escrowmq import _core
from escrowmq.transaction.ports import Index, Log
from escrowmq.transaction.topics import AUDIT_TOPIC, DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC

OPS_COUNT_MAX: Final = 1_024
"""Beyond, two neighbours count as one, which is done with when both are."""
MADE_ON_FIRST_USE: Final = frozenset({DISCARD_TOPIC, AUDIT_TOPIC})

_log = structlog.get_logger()


class Journal:
    """Appends records of transactions."""

    def __init__(
        self, log: Log, index: Index, *, next_half: int, next_op: int, make_topic: Callable[[str], None]
    ) -> None:
        self._log = log
        self._index = index
        self._next_half = next_half
        self._next_op = next_op
        self._make_topic = make_topic
        # Op records from the first that matters on, one or several together: the queue offset of the first, and the
        # highest half offset that they name.
        self._ops: deque[tuple[int, int]] = deque()

    def load(self, ops: Iterable[_core.Record]) -> None:
        """Takes over the op records that were there before."""
        for record in ops:
            self._keep(record.queue_offset, record.body)

    def append(self, messages: Sequence[_core.Message], *, uses_reserve: bool = False) -> list[_core.Receipt]:
        """Appends all messages or none, without waiting for the disk; on a disk that is too full, from its reserve."""
        receipts = list(self._log.append(messages, uses_reserve=uses_reserve))
        self._index.note(messages, receipts)
        for message, receipt in zip(messages, receipts, strict=True):
            if message.topic == HALF_TOPIC:
                self._next_half = receipt.queue_offset + 1
            elif message.topic == OP_TOPIC:
                self._next_op = receipt.queue_offset + 1
                self._keep(receipt.queue_offset, message.body)
        for topic in MADE_ON_FIRST_USE.intersection(message.topic for message in messages):
            self._make(topic)
        return receipts

    def _make(self, topic: str) -> None:
        """Has a topic listed, for which there are records now, listed or not."""
        try:
            self._make_topic(topic)
        except Exception:  # noqa: BLE001 - what was appended was appended
            _log.exception("a topic could not be made", topic=topic)

    @property
    def end(self) -> int:
        """The log offset behind all that was appended here or read at the start."""
        return self._index.end

    @property
    def next_half(self) -> int:
        """The queue offset of the next half message."""
        return self._next_half

    def progress(self) -> tuple[int, int]:
        """Queue offsets of half and op records, before which nothing matters any more."""
        live = self._index.first_live_half_offset
        half_offset = self._next_half if live is None else live
        while self._ops and self._ops[0][1] < half_offset:
            self._ops.popleft()
        return half_offset, self._ops[0][0] if self._ops else self._next_op

    def _keep(self, queue_offset: int, body: bytes | memoryview) -> None:
        self._ops.append((queue_offset, _highest(body)))
        if len(self._ops) > OPS_COUNT_MAX:
            last = self._ops.pop()
            ops = iter(self._ops)
            self._ops = deque((first, max(one, other)) for (first, one), (_, other) in zip(ops, ops, strict=True))
            self._ops.append(last)


def _highest(body: bytes | memoryview) -> int:
    """The highest number of an op record; none that is none counts."""
    numbers = bytes(body).split(b",")
    return max((int(number) for number in numbers if number.isdigit() and len(number) < len(str(2**63))), default=-1)
