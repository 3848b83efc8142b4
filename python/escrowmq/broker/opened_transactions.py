"""What of transactions is opened with a store: the index and the way into the log, in step with what the log holds.

A broker that starts needs it, and so does whoever makes a store whole that no broker of ours opens any more.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from escrowmq import _core
from escrowmq.transaction.journal import Journal
from escrowmq.transaction.ports import Log
from escrowmq.transaction.topics import HALF_QUEUE_ID, HALF_TOPIC, OP_TOPIC
from escrowmq.transaction.upkeep import write_missing_ops

PROGRESS_TOPICS: Final = (HALF_TOPIC, OP_TOPIC)


class OpenedTransactions(Struct, frozen=True):
    """The index, the journal, and how many transactions a crash had left decided and unmarked."""

    index: _core.TransactionIndex
    journal: Journal
    marked_count: int


def open_transactions(
    store: _core.Store,
    log: Log,
    done: tuple[int, int],
    *,
    decided_since_ms: int,
    make_topic: Callable[[str], None],
) -> OpenedTransactions:
    """Reads what is pending, and marks what is decided.

    `done` is how far half messages and op records were done with when that was last written down.
    """
    # Nothing goes before it is known what is pending.
    store.hold_from(0)
    index = _core.TransactionIndex.open(store, decided_since_ms=decided_since_ms)
    index.close_before(done[0])
    journal = Journal(
        log, index, next_half=end_of(store, HALF_TOPIC), next_op=end_of(store, OP_TOPIC), make_topic=make_topic
    )
    journal.load(store.iterate(OP_TOPIC, HALF_QUEUE_ID, done[1]))
    return OpenedTransactions(index, journal, write_missing_ops(index, journal))


def end_of(store: _core.Store, topic: str) -> int:
    """The queue offset behind the last record of a topic of transactions."""
    queue = store.queue(topic, HALF_QUEUE_ID)
    return 0 if queue is None else queue.max_offset
