"""RESUME_CHECK_HALF_MESSAGE: a transaction that was given up gets another chance."""

from escrowmq import _core
from escrowmq.errors import NoRecord
from escrowmq.protocol import properties
from escrowmq.transaction.journal import Journal
from escrowmq.transaction.ports import Index, Records
from escrowmq.transaction.preparing import resumed_message
from escrowmq.transaction.topics import DISCARD_TOPIC


def resume(log_offset: int, index: Index, records: Records, journal: Journal) -> tuple[str | None, int]:
    """Makes a transaction of a discarded half message; why not, and the log offset behind what was appended.

    While it is undecided, a second time changes nothing.
    """
    discarded = _discarded(log_offset, records)
    if discarded is None:
        return f"there is no discarded half message at {log_offset}", 0
    group, unique_id = discarded.find_property(properties.PRODUCER_GROUP), discarded.unique_id
    if index.find_undecided(group or "", unique_id or "") is not None:
        return None, 0
    (receipt,) = journal.append([resumed_message(discarded)])
    return None, receipt.end_offset


def _discarded(log_offset: int, records: Records) -> _core.Record | None:
    try:
        record = records.record_at(log_offset)
    except NoRecord:
        return None
    return record if record.topic == DISCARD_TOPIC else None
