"""What keeps transactions whole after a crash, and while the log's old segments go."""

from typing import Final

from escrowmq.errors import NoRecord
from escrowmq.transaction.acts import Act, append_acts
from escrowmq.transaction.decisions import Decision, Mark, op_messages
from escrowmq.transaction.journal import Journal
from escrowmq.transaction.ports import Index, Records
from escrowmq.transaction.preparing import copy_message

BATCH_COUNT_MAX: Final = 64
RECOVERY: Final = "recovery"

_DECISIONS: Final = {decision.state: decision for decision in Decision}


def write_missing_ops(index: Index, journal: Journal) -> int:
    """Marks what a crash left decided and unmarked, so that nobody asks again; how many that were.

    A final record is the proof of its commit, and a discard record that of its discard: both come before their op.
    A disk that is too full for new messages keeps nobody from starting.
    """
    count = 0
    while unmarked := index.unmarked(count_max=BATCH_COUNT_MAX):
        journal.append(
            op_messages(
                Mark(_DECISIONS.get(found.state, Decision.DISCARD), found.live_half_offsets, RECOVERY)
                for found in unmarked
            ),
            uses_reserve=True,
        )
        count += len(unmarked)
    return count


def put_back_before(log_offset: int, index: Index, records: Records, journal: Journal) -> int:
    """Puts some transactions back that have live copies before a log offset, uncounted; how many.

    What is put back is gone from where it was, so that the segments there may go.
    """
    acts = []
    for transaction in index.live_before(log_offset, count_max=BATCH_COUNT_MAX):
        try:
            half = records.record_at(transaction.log_offset)
        except NoRecord:
            continue
        copy = copy_message(half, transaction, checks=transaction.checks)
        acts.append(Act(transaction, copy, Mark(None, transaction.live_half_offsets)))
    return len(append_acts(acts, journal))
