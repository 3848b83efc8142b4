"""Stores with very many transactions, written without a broker: a bench is about what they cost later."""

from pathlib import Path
from typing import Final

from escrowmq import _core
from escrowmq.transaction.decisions import Decision, Mark, op_messages
from escrowmq.transaction.preparing import final_message
from escrowmq.transaction.topics import HALF_TOPIC

GROUP: Final = "load_producer"
TOPIC: Final = "LoadTest"
QUEUES: Final = 8
BATCH: Final = 500
BODY: Final = b"x" * 100


def fill(data: Path, *, count: int, are_decided: bool) -> None:
    """Writes so many transactions, committed or pending, and the index of them."""
    with _core.Store.open(data, flush="async") as store:
        index = _core.TransactionIndex.open(store)
        for first in range(0, count, BATCH):
            halves = [_half(number) for number in range(first, min(first + BATCH, count))]
            receipts = store.append(halves)
            index.note(halves, receipts)
            if are_decided:
                _decide(store, index, list(receipts))
        store.flush()
        if not index.save():
            raise RuntimeError("the index was not saved")


def snapshot_of(data: Path) -> tuple[int, int]:
    """What tells one snapshot of the index from another."""
    found = (data / "escrowmq" / "transactions").stat()
    return found.st_ino, found.st_mtime_ns


def _half(number: int) -> _core.Message:
    unique_id = f"7F000001{number:024X}"
    pairs = {
        "UNIQ_KEY": unique_id,
        "WAIT": "true",
        "TRAN_MSG": "true",
        "PGROUP": GROUP,
        "__transactionId__": unique_id,
        "REAL_TOPIC": TOPIC,
        "REAL_QID": str(number % QUEUES),
    }
    return _core.Message(HALF_TOPIC, BODY, properties=pairs)


def _decide(store: _core.Store, index: _core.TransactionIndex, receipts: list[_core.Receipt]) -> None:
    # A record can be read when it is visible.
    store.wait_visible(receipts[-1].end_offset)
    records = [store.record_at(receipt.log_offset) for receipt in receipts]
    finals = [final_message(half, topic=TOPIC, queue_id=half.queue_id) for half in records]
    marks = [Mark(Decision.COMMIT, [receipt.queue_offset], "127.0.0.1:4711") for receipt in receipts]
    messages = [*finals, *op_messages(marks)]
    index.note(messages, store.append(messages))
