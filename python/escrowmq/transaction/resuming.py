"""RESUME_CHECK_HALF_MESSAGE: a transaction that was given up gets another chance, once."""

from escrowmq import _core
from escrowmq.errors import NoRecord
from escrowmq.protocol import properties
from escrowmq.transaction.journal import Journal
from escrowmq.transaction.ports import Index, Records
from escrowmq.transaction.preparing import resumed_message
from escrowmq.transaction.topics import DISCARD_TOPIC, HALF_TOPIC


def resume(log_offset: int, index: Index, records: Records, journal: Journal) -> tuple[str | None, int]:
    """Makes a transaction of a discarded half message; why not, and the log offset behind what was appended.

    While it is undecided, a second time changes nothing, and waits for what the first one waits for. Whoever gave it
    another chance did so for good: one that was decided since stays so.
    """
    discarded = _discarded(log_offset, records)
    if discarded is None:
        return f"there is no discarded half message at {log_offset}", 0
    group, unique_id = discarded.find_property(properties.PRODUCER_GROUP) or "", discarded.unique_id or ""
    if index.find_undecided(group, unique_id) is not None:
        return None, journal.end
    if _was_prepared_since(discarded, group, unique_id, records):
        return "it was resumed, or prepared again, and has been decided since", 0
    (receipt,) = journal.append([resumed_message(discarded)])
    return None, receipt.end_offset


def _discarded(log_offset: int, records: Records) -> _core.Record | None:
    """The record at a place, where that is one of the discard topic: what reads as one may stand in somebody's body."""
    try:
        record = records.record_at(log_offset)
    except NoRecord:
        return None
    if record.topic != DISCARD_TOPIC:
        return None
    found = records.read(DISCARD_TOPIC, record.queue_id, record.queue_offset, count_max=1)
    return record if [one.log_offset for one in found] == [log_offset] else None


def _was_prepared_since(discarded: _core.Record, group: str, unique_id: str, records: Records) -> bool:
    return any(
        half.log_offset > discarded.log_offset and half.find_property(properties.PRODUCER_GROUP) == group
        for half in records.find_by_key(HALF_TOPIC, unique_id)
    )
