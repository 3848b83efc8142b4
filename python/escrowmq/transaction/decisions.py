"""Decisions, and the op records that hold them: which copies are done with, by what, and who said so."""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import groupby
from typing import Final

from msgspec import Struct

from escrowmq import _core
from escrowmq.protocol import properties
from escrowmq.transaction.ports import State
from escrowmq.transaction.topics import HALF_QUEUE_ID, OP_TOPIC

# With one mark more than that, still less than a property string may have.
OP_SIZE_MAX_BYTES: Final = 16_384
# Each of them takes 21 bytes at most.
_OFFSETS_COUNT_MAX: Final = 500

_WHO_LENGTH_MAX: Final = 128
# Compat: what Apache brokers look for.
_TAG: Final = "d"


class Decision(Enum):
    """What a transaction comes to. The value stands in op records."""

    COMMIT = "C"
    ROLLBACK = "R"
    DISCARD = "D"

    @property
    def state(self) -> State:
        """The state that it leads to."""
        return _STATES[self]


_STATES: Final[dict[Decision, State]] = {
    Decision.COMMIT: "committed",
    Decision.ROLLBACK: "rolled_back",
    Decision.DISCARD: "discarded",
}

PUT_BACK: Final = "P"
"""Stands in op records for a copy that a newer one replaces."""


class Mark(Struct, frozen=True):
    """Copies of one transaction that are done with."""

    kind: Decision | None
    half_offsets: Sequence[int]
    who: str = ""

    @property
    def text(self) -> str:
        """As it stands in the property of an op record."""
        offsets = ",".join(map(str, self.half_offsets))
        if self.kind is None:
            return f"{PUT_BACK}{offsets}"
        return f"{self.kind.value}{offsets}@{_quoted(self.who)}"

    def parts(self) -> Iterator["Mark"]:
        """Marks that say the same together, each of which an op record has room for."""
        for first in range(0, len(self.half_offsets), _OFFSETS_COUNT_MAX):
            yield Mark(self.kind, self.half_offsets[first : first + _OFFSETS_COUNT_MAX], self.who)


def op_messages(marks: Iterable[Mark]) -> list[_core.Message]:
    """Op records for all of them, as few as their size allows."""
    parts = [part for mark in marks for part in mark.parts()]
    return [_op_message(together) for together in _parts([(part, part.text) for part in parts])]


def _parts(written: Sequence[tuple[Mark, str]]) -> Iterator[list[tuple[Mark, str]]]:
    size = 0

    def part_of(one: tuple[Mark, str]) -> int:
        nonlocal size
        size += len(one[1]) + 1
        return size // OP_SIZE_MAX_BYTES

    return (list(part) for _, part in groupby(written, key=part_of))


def _op_message(written: Sequence[tuple[Mark, str]]) -> _core.Message:
    # Compat: every number has a comma behind it.
    body = "".join([f"{offset}," for mark, _ in written for offset in mark.half_offsets])
    pairs = {
        properties.TAGS: _TAG,
        properties.WAIT: "true",
        properties.DECIDED: ";".join([text for _, text in written]),
    }
    return _core.Message(OP_TOPIC, body.encode(), queue_id=HALF_QUEUE_ID, properties=properties.encode(pairs))


def _quoted(who: str) -> str:
    """Without what the property keeps for itself."""
    if who.isprintable() and ";" not in who:
        return who[:_WHO_LENGTH_MAX]
    return "".join(letter if letter.isprintable() and letter != ";" else "?" for letter in who)[:_WHO_LENGTH_MAX]
