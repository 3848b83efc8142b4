"""Records of several transactions in one append: what the store refuses of one costs no other."""

from collections.abc import Sequence

import structlog
from msgspec import Struct

from escrowmq import _core
from escrowmq.errors import BadMessage
from escrowmq.transaction.decisions import Mark, op_messages
from escrowmq.transaction.journal import Journal
from escrowmq.transaction.ports import Transaction

_log = structlog.get_logger()


class Act(Struct, frozen=True):
    """What is to be appended of a transaction: a record, and the mark of the copies that it stands for."""

    transaction: Transaction
    message: _core.Message
    mark: Mark


def append_acts(acts: Sequence[Act], journal: Journal) -> list[tuple[Act, _core.Receipt]]:
    """Appends these at once, each record before its mark; those that the store took, and where they are."""
    left = list(acts)
    while left:
        try:
            messages = [*(act.message for act in left), *op_messages(act.mark for act in left)]
            receipts = journal.append(messages, uses_reserve=True)
        except BadMessage as error:
            if error.index >= len(left):
                raise
            bad = left.pop(error.index)
            _log.warning("a half message can't be appended again", **_names(bad.transaction), reason=str(error))
        else:
            return list(zip(left, receipts[: len(left)], strict=True))
    return []


def _names(transaction: Transaction) -> dict[str, object]:
    return {
        "transaction": transaction.unique_id,
        "group": transaction.group,
        "half_offset": transaction.half_offset,
    }
