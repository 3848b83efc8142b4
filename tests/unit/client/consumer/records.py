"""Records as a pull brings them, made by a store of the test's own."""

import tempfile
from collections.abc import Sequence

from escrowmq import Message, Record, Store, decode_records
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.model.message_queue import MessageQueue

QUEUE = MessageQueue("broker-a", 0, "orders")
SMALL = {"segment_size_bytes": 1 << 20, "queue_file_entries": 1_000, "index_slots": 100, "index_entries": 400}


def encoded(messages: Sequence[Message]) -> bytes:
    """The messages as records, one after the other, from queue offset 0 on."""
    with tempfile.TemporaryDirectory() as folder, Store.open(folder, **SMALL) as store:  # type: ignore[arg-type]
        receipts = store.append(messages)
        store.wait_visible(receipts.end_offset)
        return b"".join(bytes(store.record_at(receipt.log_offset).bytes) for receipt in receipts)


def records(messages: Sequence[Message]) -> list[Record]:
    """The same, read again."""
    return decode_records(encoded(messages))


def received(count: int, *, body: bytes = b"x") -> list[ReceivedMessage]:
    """So many messages of `QUEUE`, from offset 0 on."""
    return [ReceivedMessage(record, QUEUE) for record in records([Message("orders", body) for _ in range(count)])]
