"""Our store, opened with the file sizes of the tests, and its records in the terms of Apache's dump."""

import base64
from collections.abc import Sequence
from pathlib import Path

from tests.interop.apache import BROKER_NAME, SMALL_FILES
from tests.interop.java_process import Row
from tests.interop.scenario import COMPRESSED, STORE_HOST, Acknowledged, PlannedMessage, Receipt

from escrowmq import Message, Record, Store


def open_store(path: Path) -> Store:
    """Opens or creates a store that flushes before it acknowledges."""
    return Store.open(
        path,
        flush="sync",
        segment_size_bytes=SMALL_FILES.segment_size_bytes,
        queue_file_entries=SMALL_FILES.queue_file_entries,
        index_slots=SMALL_FILES.index_slots,
        index_entries=SMALL_FILES.index_entries,
        store_host=STORE_HOST,
        # However full the disk of this machine is, the store under test is neither cleaned nor refused.
        disk_clean_ratio=0.97,
        disk_force_ratio=0.98,
        disk_refuse_ratio=0.99,
    )


STORE_OPTIONS: Sequence[str] = (
    f"--set=store.segment_size_bytes={SMALL_FILES.segment_size_bytes}",
    f"--set=store.queue_file_entries={SMALL_FILES.queue_file_entries}",
    f"--set=store.index_slots={SMALL_FILES.index_slots}",
    f"--set=store.index_entries={SMALL_FILES.index_entries}",
)
"""The file sizes of the tests, for a command of ours."""

BROKER_OPTIONS: Sequence[str] = (f"--name={BROKER_NAME}", *STORE_OPTIONS)
"""A broker of ours whose files are as large as those of the tests."""


def append(store: Store, batch: Sequence[PlannedMessage]) -> Acknowledged:
    """Appends a batch and returns when all of it is durable."""
    receipts = store.append([_message(planned) for planned in batch])
    store.wait_durable(receipts.end_offset)
    acknowledged: Acknowledged = {}
    for place, planned in enumerate(batch):
        given = receipts[place]
        acknowledged[planned.number] = Receipt(
            given.log_offset, given.queue_offset, given.size_bytes, given.store_timestamp_ms
        )
    return acknowledged


def read_all(store: Store) -> list[Row]:
    """Every message of every queue."""
    store.wait_visible(store.log_end)
    return [row(record) for queue in store.queues() for record in store.iterate(queue.topic, queue.queue_id)]


def row(record: Record) -> Row:
    """What the Java client would say about this record."""
    return {
        "topic": record.topic,
        "queueId": record.queue_id,
        "queueOffset": record.queue_offset,
        "logOffset": record.log_offset,
        "size": record.size_bytes,
        # The client clears the bit when it has decompressed the body.
        "sysFlag": record.sys_flag & ~COMPRESSED,
        "flag": record.flag,
        "bodyCrc": record.body_crc,
        "bornTimestamp": record.born_timestamp_ms,
        "bornHost": record.born_host,
        "storeTimestamp": record.store_timestamp_ms,
        "storeHost": record.store_host,
        "reconsumeTimes": record.reconsume_times,
        "preparedTransactionOffset": record.prepared_transaction_offset,
        "msgId": record.unique_id or record.offset_message_id,
        "offsetMsgId": record.offset_message_id,
        "properties": record.properties,
        "body": base64.b64encode(record.decoded_body()).decode(),
    }


def _message(planned: PlannedMessage) -> Message:
    return Message(
        topic=planned.topic,
        body=planned.body,
        queue_id=planned.queue_id,
        properties=planned.stored_properties,
        flag=planned.flag,
        sys_flag=planned.sys_flag,
        born_timestamp_ms=planned.born_timestamp_ms,
        born_host=planned.born_host,
        reconsume_times=planned.reconsume_times,
        prepared_transaction_offset=planned.prepared_transaction_offset,
    )
