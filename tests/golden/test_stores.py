"""Stores that RocketMQ's broker wrote open here, and hold what its Java client decoded."""

import base64
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.golden import recordings

from escrowmq import Message, Record, Store

STORES = ["clean", "killed"]


@pytest.fixture(params=STORES)
def name(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def folder(name: str, tmp_path: Path) -> Path:
    return recordings.unpack_store(name, tmp_path)


def open_recorded(folder: Path) -> Store:
    return Store.open(folder, **recordings.OPTIONS, **recordings.NEVER_EXPIRE)


def every_record(store: Store) -> list[Record]:
    return [record for queue in store.queues() for record in store.iterate(queue.topic, queue.queue_id)]


def as_java_decodes(record: Record) -> dict[str, Any]:
    """The record in the shape of the Java client's dump."""
    return {
        "topic": record.topic,
        "queueId": record.queue_id,
        "queueOffset": record.queue_offset,
        "commitLogOffset": record.log_offset,
        "storeSize": record.size_bytes,
        # Java clears the bit once it has decompressed the body.
        "sysFlag": record.sys_flag & ~recordings.COMPRESSED,
        "flag": record.flag,
        "bodyCRC": record.body_crc,
        "bornTimestamp": record.born_timestamp_ms,
        "bornHost": record.born_host.rpartition(":")[0],
        "storeTimestamp": record.store_timestamp_ms,
        "reconsumeTimes": record.reconsume_times,
        "preparedTransactionOffset": record.prepared_transaction_offset,
        "msgId": record.unique_id or record.offset_message_id,
        "properties": record.properties,
        "body": base64.b64encode(record.decoded_body()).decode(),
    }


def without_pull_additions(row: dict[str, Any]) -> dict[str, Any]:
    properties = {key: value for key, value in row["properties"].items() if key not in recordings.PULL_PROPERTIES}
    return {key: value for key, value in row.items() if key != "broker"} | {"properties": properties}


def test_every_message_equals_what_the_java_client_decoded(name: str, folder: Path) -> None:
    with open_recorded(folder) as store:
        ours = sorted(map(as_java_decodes, every_record(store)), key=lambda row: row["commitLogOffset"])
    java = sorted(map(without_pull_additions, recordings.messages(name)), key=lambda row: row["commitLogOffset"])
    assert ours == java


def test_system_topics_are_among_them(folder: Path) -> None:
    with open_recorded(folder) as store:
        topics = {queue.topic for queue in store.queues()}
    assert topics >= {
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "SCHEDULE_TOPIC_XXXX",
        "%RETRY%billing",
    }


def test_only_the_killed_store_needs_recovery(name: str, folder: Path) -> None:
    assert (folder / "abort").exists() == (name == "killed")
    with open_recorded(folder):
        assert (folder / "abort").exists()
    assert not (folder / "abort").exists()


def queue_files(folder: Path) -> dict[str, bytes]:
    root = folder / "consumequeue"
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def index_files(folder: Path) -> list[bytes]:
    """Names are creation times, so they differ; their order does not."""
    return [path.read_bytes() for path in sorted((folder / "index").iterdir())]


def test_opening_changes_no_queue_and_no_index(folder: Path) -> None:
    queues, index = queue_files(folder), index_files(folder)
    open_recorded(folder).close()
    assert queue_files(folder) == queues
    assert index_files(folder) == index


def test_deleted_queues_and_index_come_back_byte_for_byte(folder: Path) -> None:
    queues, index = queue_files(folder), index_files(folder)
    shutil.rmtree(folder / "consumequeue")
    shutil.rmtree(folder / "index")
    open_recorded(folder).close()
    assert queue_files(folder) == queues
    assert index_files(folder) == index


def test_keys_and_unique_ids_are_found(name: str, folder: Path) -> None:
    rows = [row for row in recordings.messages(name) if row["topic"] == "orders" and "KEYS" in row["properties"]]
    with open_recorded(folder) as store:
        for row in rows:
            found = store.find_by_key("orders", row["properties"]["KEYS"])
            assert row["commitLogOffset"] in [record.log_offset for record in found]
            by_id = store.find_by_unique_id("orders", row["properties"]["UNIQ_KEY"])
            assert by_id is not None
            assert by_id.log_offset == row["commitLogOffset"]
            assert store.record_at(row["commitLogOffset"]).unique_id == row["msgId"]


def test_a_recorded_store_takes_more_messages(name: str, folder: Path) -> None:
    """Offsets go on where Apache's left off, and what it wrote stays as it was."""
    before = len(recordings.messages(name))
    with open_recorded(folder) as store:
        (queue,) = (queue for queue in store.queues() if (queue.topic, queue.queue_id) == ("orders", 0))
        receipts = store.append([Message("orders", b"one more", tags="paid")])
        store.wait_visible(receipts.end_offset)
        assert receipts[0].queue_offset == queue.max_offset
    with open_recorded(folder) as store:
        assert len(every_record(store)) == before + 1
