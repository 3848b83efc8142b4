"""What operators are told of queues and of the log: where they begin and end, and when messages were stored."""

from typing import Final

from escrowmq import _core
from escrowmq.broker.ports import MessageStore
from escrowmq.errors import NoRecord

NO_TIME: Final = -1
"""The store time of a message that is not there."""

QUEUE_ID_MAX: Final = 2**31 - 1


def bounds(store: MessageStore, topic: str, queue_id: int) -> tuple[int, int]:
    """The first offset of a queue and the one after its last; both 0 for a queue that never had a message."""
    queue = store.queue(topic, queue_id) if _is_number(queue_id) else None
    return (0, 0) if queue is None else (queue.min_offset, queue.max_offset)


def stored_at_ms(store: MessageStore, topic: str, queue_id: int, offset: int) -> int:
    """When the message of an offset was stored; -1 where there is none, or none any more."""
    found = store.read(topic, queue_id, offset, count_max=1) if offset >= 0 and _is_number(queue_id) else ()
    return found[0].store_timestamp_ms if found else NO_TIME


def first_stored_at_ms(store: MessageStore, topic: str, queue_id: int) -> int:
    """When the first message was stored that is still there; -1 for none."""
    return stored_at_ms(store, topic, queue_id, bounds(store, topic, queue_id)[0])


def oldest_stored_at_ms(store: _core.Store) -> int:
    """When the oldest message of the log was stored; -1 for none."""
    try:
        return store.record_at(store.log_start).store_timestamp_ms
    except NoRecord:
        return NO_TIME


def _is_number(queue_id: int) -> bool:
    """Whether a queue may have the number, which whoever asks has made up."""
    return 0 <= queue_id <= QUEUE_ID_MAX
