"""What an operator must be able to find later: contradictions, and decisions that were forced."""

from collections.abc import Iterable
from typing import Final, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from escrowmq import _core
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.ports import State
from escrowmq.transaction.topics import AUDIT_TOPIC

_KEY_LENGTH_MAX: Final = 255


Contradiction: TypeAlias = tuple[int, Decision]
"""A transaction, by its root, and what was wanted of it."""


class Audited(Protocol):
    """The transaction that something is written down about."""

    @property
    def root_log_offset(self) -> int:
        """Where its first half record begins in the log."""

    @property
    def unique_id(self) -> str:
        """Its id."""

    @property
    def group(self) -> str:
        """The producer group that decides it."""

    @property
    def topic(self) -> str:
        """The topic that its message is for."""


class AuditEntry(Struct, frozen=True, rename="camel"):
    """The body of a record of the audit topic, as JSON."""

    what: Literal["contradiction", "forced"]
    transaction_id: str
    group: str
    topic: str
    root_log_offset: int
    state: State
    wanted: str
    who: str


class WrittenDown:
    """Contradictions that were written down, the last of them: whoever repeats one for ever adds nothing to the log."""

    def __init__(self, count_max: int = 10_000) -> None:
        self._count_max = count_max
        # In the order in which they were written.
        self._last: dict[Contradiction, None] = {}

    def __contains__(self, contradiction: Contradiction) -> bool:
        return contradiction in self._last

    def add(self, contradictions: Iterable[Contradiction]) -> None:
        """Remembers some more."""
        for contradiction in contradictions:
            self._last[contradiction] = None
            if len(self._last) > self._count_max:
                del self._last[next(iter(self._last))]


def audit_message(
    what: Literal["contradiction", "forced"], transaction: Audited, wanted: Decision, *, state: State, who: str
) -> _core.Message:
    """The record: found by the transaction's id as key, and by what happened as tag."""
    entry = AuditEntry(
        what=what,
        transaction_id=transaction.unique_id,
        group=transaction.group,
        topic=transaction.topic,
        root_log_offset=transaction.root_log_offset,
        state=state,
        wanted=wanted.state,
        who=who,
    )
    # Compat: Apache takes ids of any length, which leave no room for anything else.
    key = transaction.unique_id[:_KEY_LENGTH_MAX] or None
    return _core.Message(AUDIT_TOPIC, msgspec.json.encode(entry), tags=what, keys=key)
