"""What an operator must be able to find later: contradictions, and decisions that were forced."""

from typing import Final, Literal

import msgspec
from msgspec import Struct

from escrowmq import _core
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.ports import State, Transaction
from escrowmq.transaction.topics import AUDIT_TOPIC

_KEY_LENGTH_MAX: Final = 255


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


def audit_message(
    what: Literal["contradiction", "forced"], transaction: Transaction, wanted: Decision, *, state: State, who: str
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
