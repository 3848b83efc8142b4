"""What became of a transaction that the index does not list any more: the log tells, as long as it has the records."""

from typing import Final

from msgspec import Struct

from escrowmq import _core
from escrowmq.errors import NoRecord
from escrowmq.protocol import properties
from escrowmq.transaction.ports import Records, State
from escrowmq.transaction.preparing import TRANSACTION_BITS
from escrowmq.transaction.topics import HALF_TOPIC

_COMMITTED: Final = 0x8


class Forgotten(Struct, frozen=True):
    """A transaction as one of its half messages tells it."""

    unique_id: str
    group: str
    topic: str
    root_log_offset: int
    state: State


def forgotten(half: _core.Record, records: Records) -> Forgotten:
    """The transaction of a half message. Whether it was rolled back, discarded or closed is the same by now."""
    unique_id, topic = half.unique_id or "", half.find_property(properties.REAL_TOPIC) or ""
    finals = (one for one in records.find_by_key(topic, unique_id) if one.sys_flag & TRANSACTION_BITS == _COMMITTED)
    return Forgotten(
        unique_id=unique_id,
        group=_group_of(half),
        topic=topic,
        root_log_offset=_root_of(half),
        state="committed" if any(_commits(final, half, records) for final in finals) else "closed",
    )


def _commits(final: _core.Record, half: _core.Record, records: Records) -> bool:
    """Whether a committed message is that of a half message, and not that of another with the same id."""
    if _group_of(final) != _group_of(half):
        return False
    committed = final.prepared_transaction_offset
    # Compat: a message that waited for its time before it came into its queue names none.
    if committed in (0, half.log_offset, _root_of(half)):
        return True
    try:
        other = records.record_at(committed)
    except NoRecord:
        return False
    is_same_id = other.topic == HALF_TOPIC and (other.unique_id, _group_of(other)) == (half.unique_id, _group_of(half))
    # Compat: Apache's copies say by group and id only whose they are.
    return is_same_id and (_root_of(other) == _root_of(half) or _is_apaches_copy(other) or _is_apaches_copy(half))


def _root_of(half: _core.Record) -> int:
    root = (half.find_property(properties.ROOT) or "").partition(",")[0]
    return int(root) if root.isdecimal() else half.log_offset


def _is_apaches_copy(half: _core.Record) -> bool:
    is_copy = half.find_property(properties.CHECK_TIMES) or half.find_property(properties.PREPARED_QUEUE_OFFSET)
    return bool(is_copy) and half.find_property(properties.ROOT) is None


def _group_of(record: _core.Record) -> str:
    return record.find_property(properties.PRODUCER_GROUP) or ""
