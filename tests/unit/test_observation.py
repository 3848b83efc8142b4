"""A store that is read while its broker writes it, as Arrow batches. What a scan must hold is tested in Rust."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from escrowmq import Message, Store
from escrowmq._core import Observation, ObservedQueue, PropertyFilter
from escrowmq.errors import IoFailure

COLUMNS = (
    "topic",
    "broker",
    "queue_id",
    "queue_offset",
    "keys",
    "tags",
    "body",
    "properties",
    "born_timestamp",
    "store_timestamp",
    "born_host",
    "message_id",
    "transaction_id",
    "reconsume_times",
)
COUNT = 6_000


def message(number: int) -> Message:
    return Message(
        "orders",
        number.to_bytes(4, "big") * 20,
        tags="paid" if number % 3 == 0 else "open",
        keys=f"order-{number} all",
        properties={"amount": str(number)},
        born_timestamp_ms=1_794_984_722_856,
        born_host="10.1.2.3:4711",
    )


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[ObservedQueue]:
    with Store.open(tmp_path / "store", segment_size_bytes=1 << 20, disk_refuse_ratio=1.0) as store:
        receipts = store.append([message(number) for number in range(COUNT)])
        store.wait_visible(receipts.end_offset)
        (found,) = Observation.open(tmp_path / "store").queues("orders")
        yield found


def rows(queue: ObservedQueue, start: int = 0, end: int = COUNT, **options: object) -> list[dict[str, object]]:
    columns = options.pop("columns", ("queue_offset",))
    stream = queue.scan(start, end, columns=columns, **options)  # type: ignore[arg-type]
    found: list[dict[str, object]] = pa.RecordBatchReader.from_stream(stream).read_all().to_pylist()
    return found


def test_a_row_says_what_its_message_says(queue: ObservedQueue) -> None:
    (row,) = rows(queue, 7, 8, columns=COLUMNS, broker="broker-a")
    assert row["topic"] == "orders"
    assert (row["broker"], row["queue_id"], row["queue_offset"]) == ("broker-a", 0, 7)
    assert (row["keys"], row["tags"], row["body"]) == (["order-7", "all"], "open", message(7).body)
    assert dict(row["properties"]) == message(7).properties  # type: ignore[call-overload]
    assert row["born_timestamp"].timestamp() == 1_794_984_722.856  # type: ignore[attr-defined]
    assert (row["born_host"], row["transaction_id"], row["reconsume_times"]) == ("10.1.2.3:4711", None, 0)


def test_batches_are_as_large_as_wanted_and_say_everything_once(queue: ObservedQueue) -> None:
    stream = queue.scan(0, COUNT, columns=["queue_offset"], rows_max=1, size_max_bytes=1)
    batches = list(pa.RecordBatchReader.from_stream(stream))
    assert len(batches) > 1
    assert [offset for batch in batches for offset in batch["queue_offset"].to_pylist()] == list(range(COUNT))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"tags": ["paid"]}, [number for number in range(COUNT) if number % 3 == 0]),
        ({"tags": ["none"]}, []),
        ({"key": "order-17"}, [17]),
        ({"properties": PropertyFilter("amount > 5990")}, list(range(5_991, COUNT))),
        ({"store_time_ms": (0, 1)}, []),
        ({"tags": ["paid"], "key": "all", "properties": PropertyFilter("amount < 5")}, [0, 3]),
    ],
)
def test_only_wanted_records_become_rows(queue: ObservedQueue, options: dict[str, object], expected: list[int]) -> None:
    assert [row["queue_offset"] for row in rows(queue, 0, COUNT, **options)] == expected


def test_rows_of_no_column_are_counted(queue: ObservedQueue) -> None:
    table = pa.RecordBatchReader.from_stream(queue.scan(0, 100, columns=[])).read_all()
    assert table.num_rows == 100


def test_a_stream_is_read_once(queue: ObservedQueue) -> None:
    stream = queue.scan(0, 1, columns=["body"])
    pa.RecordBatchReader.from_stream(stream)
    with pytest.raises(ValueError, match="read already"):
        pa.RecordBatchReader.from_stream(stream)


def test_an_unknown_column_is_told_which_there_are(queue: ObservedQueue) -> None:
    with pytest.raises(ValueError, match='column "boddy", expected one of topic, broker'):
        queue.scan(0, 1, columns=["boddy"])


def test_there_is_nothing_to_observe_where_there_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(IoFailure, match="commitlog"):
        Observation.open(tmp_path)


def test_nothing_of_the_directory_is_changed(queue: ObservedQueue, tmp_path: Path) -> None:
    def state() -> str:
        found = {
            str(path): path.stat().st_size for path in sorted((tmp_path / "store").rglob("*")) if not path.is_dir()
        }
        return json.dumps(found)

    before = state()
    assert len(rows(queue, columns=COLUMNS)) == COUNT
    assert state() == before
