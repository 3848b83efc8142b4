"""A store from Python: append, read, look up, wait, expire, close."""

import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest
from tests.opening import EXPIRE_NOW, every_record, open_small

from escrowmq import Message, Store
from escrowmq.errors import NoRecord, NotYetDurable, StoreClosed

COMPRESSED_ZLIB = 1 | 3 << 8
PREPARED, ROLLBACK = 1 << 2, 3 << 2


def append_visibly(store: Store, messages: list[Message]) -> list[int]:
    """Appends, waits until readers see it, and returns the log offsets."""
    receipts = store.append(messages)
    store.wait_visible(receipts.end_offset)
    return [receipt.log_offset for receipt in receipts]


def test_what_was_appended_is_read_back(store: Store) -> None:
    message = Message(
        "orders",
        b"body",
        tags="paid",
        keys="order-1",
        properties={"城市": "上海"},
        queue_id=3,
        flag=7,
        born_timestamp_ms=1_700_000_000_000,
        born_host="10.1.2.3:4711",
        reconsume_times=2,
        prepared_transaction_offset=99,
    )
    (log_offset,) = append_visibly(store, [message])
    (record,) = store.read("orders", 3, 0)
    assert record.topic == "orders"
    assert bytes(record.body) == b"body"
    assert record.decoded_body() == b"body"
    assert record.properties == message.properties
    assert record.queue_id == 3
    assert record.queue_offset == 0
    assert record.log_offset == log_offset
    assert record.size_bytes == len(record.bytes)
    assert record.flag == 7
    assert record.born_timestamp_ms == 1_700_000_000_000
    assert record.born_host == "10.1.2.3:4711"
    assert record.store_host == "127.0.0.1:10911"
    assert record.reconsume_times == 2
    assert record.prepared_transaction_offset == 99
    assert record.unique_id is None
    assert record.offset_message_id == f"7F00000100002A9F{log_offset:016X}"


@pytest.mark.parametrize("host", ["[2001:db8::1]:10911", "127.0.0.1:10911"])
def test_hosts_of_both_families_come_back(folder: Path, host: str) -> None:
    with open_small(folder, store_host=host) as store:
        append_visibly(store, [Message("orders", b"", born_host="[::1]:99")])
        (record,) = store.read("orders", 0, 0)
        assert record.store_host == host
        assert record.born_host == "[::1]:99"


def test_receipts_are_a_sequence(store: Store) -> None:
    receipts = store.append([Message("orders", b"a"), Message("orders", b"b"), Message("payments", b"c")])
    assert len(receipts) == 3
    assert [receipt.queue_offset for receipt in receipts] == [0, 1, 0]
    assert receipts[-1].end_offset == receipts.end_offset == store.log_end
    assert receipts[0].end_offset == receipts[1].log_offset
    assert receipts[0] == receipts[0]
    assert receipts[0] != receipts[1]
    with pytest.raises(IndexError):
        receipts[3]


def test_an_empty_batch_is_no_batch(store: Store) -> None:
    receipts = store.append([])
    assert len(receipts) == 0
    assert store.log_end == 0


def test_only_messages_can_be_appended(store: Store) -> None:
    with pytest.raises(TypeError):
        store.append([b"bytes"])  # type: ignore[list-item]
    assert store.log_end == 0


def test_a_body_is_a_view_that_does_not_copy_and_cannot_be_written(store: Store) -> None:
    append_visibly(store, [Message("orders", b"body")])
    (record,) = store.read("orders", 0, 0)
    assert record.body.readonly
    assert record.body.c_contiguous
    with pytest.raises(TypeError):
        record.body[0] = 0
    assert record.bytes[-len(record.bytes) :] == record.bytes


def test_a_view_outlives_record_store_and_segment(folder: Path) -> None:
    with open_small(folder, **EXPIRE_NOW) as store:
        append_visibly(store, [Message("orders", b"held", queue_id=1)])
        view = store.read("orders", 1, 0)[0].body
        append_visibly(store, [Message("orders", bytes(4_000)) for _ in range(20)])
        store.expire()
    assert bytes(view) == b"held"


def test_a_compressed_body_is_decoded_when_asked(store: Store) -> None:
    plain = b"compress me " * 1_000
    append_visibly(store, [Message("orders", zlib.compress(plain), sys_flag=COMPRESSED_ZLIB)])
    (record,) = store.read("orders", 0, 0)
    assert bytes(record.body) == zlib.compress(plain)
    assert record.decoded_body() == plain


def test_prepared_and_rolled_back_messages_stay_out_of_their_queue(store: Store) -> None:
    offsets = append_visibly(
        store,
        [
            Message("orders", b"prepared", sys_flag=PREPARED),
            Message("orders", b"rolled back", sys_flag=ROLLBACK),
            Message("orders", b"plain"),
        ],
    )
    assert [bytes(record.body) for record in store.read("orders", 0, 0)] == [b"plain"]
    assert [bytes(store.record_at(offset).body) for offset in offsets] == [b"prepared", b"rolled back", b"plain"]


def test_reading_is_bounded_by_count_and_size(store: Store) -> None:
    append_visibly(store, [Message("orders", bytes(1_000)) for _ in range(40)])
    assert len(store.read("orders", 0, 0)) == 32
    assert len(store.read("orders", 0, 0, count_max=5)) == 5
    assert len(store.read("orders", 0, 0, size_max_bytes=3_500)) == 3
    assert len(store.read("orders", 0, 0, size_max_bytes=1)) == 1
    assert store.read("orders", 0, 40) == []
    assert store.read("orders", 0, 1_000_000) == []
    assert store.read("nobody", 0, 0) == []


def test_iterating_follows_a_queue_over_many_files(store: Store) -> None:
    append_visibly(store, [Message("orders", f"{number}".encode() * 100) for number in range(300)])
    assert len(list((store.path / "commitlog").iterdir())) > 3
    numbers = [int(bytes(record.body[:1])) for record in store.iterate("orders", 0, count_max=7)]
    assert numbers == [int(f"{number}"[0]) for number in range(300)]
    assert [record.queue_offset for record in store.iterate("orders", 0, 290)] == list(range(290, 300))


def test_an_iterator_goes_on_when_there_is_more(store: Store) -> None:
    append_visibly(store, [Message("orders", b"first")])
    iterator = store.iterate("orders", 0)
    assert bytes(next(iterator).body) == b"first"
    assert next(iterator, None) is None
    append_visibly(store, [Message("orders", b"second")])
    assert bytes(next(iterator).body) == b"second"


def test_queues_say_what_they_hold(store: Store) -> None:
    append_visibly(store, [Message("orders", b"", queue_id=queue_id) for queue_id in (0, 1, 1)])
    status = {(queue.topic, queue.queue_id): (queue.min_offset, queue.max_offset) for queue in store.queues()}
    assert status == {("orders", 0): (0, 1), ("orders", 1): (0, 2)}


def test_keys_find_their_messages_newest_first(store: Store) -> None:
    append_visibly(
        store,
        [
            Message("orders", b"a", keys=["shared", "only-a"]),
            Message("orders", b"b", keys="shared", properties={"UNIQ_KEY": "ID-B"}),
            Message("payments", b"c", keys="shared"),
        ],
    )
    assert [bytes(record.body) for record in store.find_by_key("orders", "shared")] == [b"b", b"a"]
    assert [bytes(record.body) for record in store.find_by_key("orders", "shared", count_max=1)] == [b"b"]
    assert [bytes(record.body) for record in store.find_by_key("orders", "only-a")] == [b"a"]
    assert store.find_by_key("orders", "nothing") == []
    found = store.find_by_unique_id("orders", "ID-B")
    assert found is not None
    assert bytes(found.body) == b"b"
    assert found.unique_id == "ID-B"
    assert store.find_by_unique_id("payments", "ID-B") is None


def test_times_find_their_offsets(store: Store) -> None:
    append_visibly(store, [Message("orders", b"") for _ in range(3)])
    times = [record.store_timestamp_ms for record in store.read("orders", 0, 0)]
    assert times == sorted(times)
    assert store.offset_by_time("orders", 0, times[0]) == 0
    assert store.offset_by_time("orders", 0, times[-1], boundary="upper") == 2
    assert store.offset_by_time("orders", 0, times[-1] + 1) == 3
    assert store.offset_by_time("orders", 0, times[0] - 1, boundary="upper") == 0
    assert store.offset_by_time("nobody", 0, 0) is None
    with pytest.raises(ValueError, match="middle"):
        store.offset_by_time("orders", 0, 0, boundary="middle")  # type: ignore[arg-type]


def test_no_record_begins_there(store: Store) -> None:
    (log_offset,) = append_visibly(store, [Message("orders", b"body")])
    for wrong in (log_offset + 1, store.log_end, 2**62):
        with pytest.raises(NoRecord) as caught:
            store.record_at(wrong)
        assert caught.value.at == wrong
        assert (caught.value.start, caught.value.end) == (0, store.log_end)


def test_offsets_say_how_far_things_are(store: Store) -> None:
    append_visibly(store, [Message("orders", b"body")])
    assert store.log_start == 0
    assert store.log_end == store.durable_end == store.visible_end > 0
    assert store.flush() == store.log_end


def test_a_wait_for_what_never_comes_ends(store: Store) -> None:
    with pytest.raises(NotYetDurable) as caught:
        store.wait_durable(1, timeout_s=0.01)
    assert (caught.value.offset, caught.value.waited_ms) == (1, 10)
    with pytest.raises(NotYetDurable):
        store.wait_visible(1, timeout_s=0.01)
    with pytest.raises(ValueError, match="timeout_s"):
        store.wait_durable(1, timeout_s=-1)


def test_waits_let_other_threads_run(store: Store) -> None:
    """A wait that held Python's lock would never see the append of the other thread."""
    appender = threading.Timer(0.05, lambda: store.append([Message("orders", b"late")]))
    appender.start()
    store.wait_visible(1, timeout_s=30)
    appender.join()
    assert store.visible_end > 1


def test_threads_append_at_the_same_time(store: Store) -> None:
    def append(queue_id: int) -> None:
        for number in range(50):
            store.append([Message("orders", f"{number}".encode(), queue_id=queue_id) for _ in range(4)])

    threads = [threading.Thread(target=append, args=(queue_id,)) for queue_id in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.wait_visible(store.log_end)
    for queue_id in range(4):
        bodies = [int(bytes(record.body)) for record in store.iterate("orders", queue_id)]
        assert bodies == [number for number in range(50) for _ in range(4)]


@pytest.mark.parametrize("flush", ["sync", "async"])
def test_a_store_reopens_with_all_it_had(folder: Path, flush: str) -> None:
    with open_small(folder, flush=flush) as store:
        append_visibly(store, [Message("orders", f"{number}".encode() * 50) for number in range(200)])
        bodies = [bytes(record.body) for record in every_record(store)]
    with open_small(folder, flush=flush) as store:
        assert store.recovery_report.was_orderly
        assert [bytes(record.body) for record in every_record(store)] == bodies
        assert store.append([Message("orders", b"")])[0].queue_offset == 200


def test_a_record_checksum_is_written_when_asked_for(folder: Path) -> None:
    with open_small(folder, record_crc=True) as store:
        append_visibly(store, [Message("orders", b"body", tags="paid")])
        (record,) = store.read("orders", 0, 0)
        assert record.properties.keys() == {"TAGS", "__CRC32#"}
        append_visibly(
            store,
            [Message("orders", b"again", properties=Message("o", b"", properties=record.properties).properties_bytes)],
        )
        assert bytes(store.read("orders", 0, 1)[0].bytes).count(b"__CRC32#") == 1


def test_a_closed_store_refuses(folder: Path) -> None:
    store = open_small(folder)
    store.close()
    store.close()
    with pytest.raises(StoreClosed):
        store.append([Message("orders", b"")])
    with pytest.raises(StoreClosed):
        store.wait_durable(1)


FORK = """
import gc, os, sys, pathlib
from tests.opening import open_small
from escrowmq import Message, errors

store = open_small(pathlib.Path(sys.argv[1]))
store.append([Message("orders", b"before")])
records = store.iterate("orders", 0)
child = os.fork()
if child == 0:
    for use in (lambda: store.append([]), lambda: store.log_end, store.close, lambda: next(records)):
        try:
            use()
            os._exit(1)
        except errors.StoreClosed:
            pass
    del store, records, use
    gc.collect()
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
store.wait_visible(store.append([Message("orders", b"after")]).end_offset)
store.close()
"""


def test_a_forked_process_leaves_its_parents_store_alone(folder: Path) -> None:
    """The child shares the mapped log but has no threads: its appends would take offsets that the parent gives too."""
    command = [sys.executable, "-W", "ignore", "-c", FORK, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.stderr == ""
    assert done.returncode == 0
    with open_small(folder) as store:
        assert store.recovery_report.was_orderly
        assert [bytes(record.body) for record in every_record(store)] == [b"before", b"after"]


def test_expiry_moves_the_start_of_log_and_queues(folder: Path) -> None:
    with open_small(folder, **EXPIRE_NOW) as store:
        append_visibly(store, [Message("orders", bytes(1_000)) for _ in range(60)])
        report = store.expire()
        assert report.segments_expired > 0
        assert report.log_start == store.log_start > 0
        (queue,) = store.queues()
        assert queue.min_offset > 0
        assert next(store.iterate("orders", 0)).queue_offset == queue.min_offset
        assert next(store.iterate("orders", 0, queue.max_offset - 1)).queue_offset == queue.max_offset - 1
        with pytest.raises(NoRecord):
            store.record_at(0)


def test_a_deleted_topic_leaves_nothing_but_records(folder: Path) -> None:
    with open_small(folder) as store:
        append_visibly(store, [Message("orders", b"old", keys="k"), Message("other", b"stays")])
        (held,) = store.read("orders", 0, 0)
        assert store.delete_topics(["orders", "none"]) == 1
        assert [queue.topic for queue in store.queues()] == ["other"]
        assert store.queue("orders", 0) is None
        assert (bytes(held.body), len(store.find_by_key("orders", "k"))) == (b"old", 1)
        append_visibly(store, [Message("orders", b"new")])
        assert [(record.queue_offset, bytes(record.body)) for record in store.read("orders", 0, 0)] == [(0, b"new")]
    with open_small(folder) as store:
        assert [bytes(record.body) for record in store.read("orders", 0, 0)] == [b"new"]
        with pytest.raises(TypeError):
            store.delete_topics([1])  # type: ignore[list-item]


def test_statistics_count(store: Store) -> None:
    append_visibly(store, [Message("orders", b"a"), Message("orders", b"b")])
    numbers = store.statistics()
    assert numbers.messages_appended == 2
    assert numbers.batches_appended == 1
    assert numbers.bytes_appended == store.log_end
    assert numbers.flushes >= 1
    assert numbers.segments >= 1
    assert numbers.queues == 1
    assert numbers.poisoned_by is None
    assert 0 <= numbers.disk_used_ratio <= 1


def test_things_say_what_they_are(store: Store) -> None:
    receipts = store.append([Message("orders", b"body")])
    store.wait_visible(receipts.end_offset)
    assert repr(store) == f"Store({store.path})"
    assert "topic='orders'" in repr(Message("orders", b"body")).replace('"', "'")
    assert "queue_offset=0" in repr(receipts[0])
    assert "1 messages" in repr(receipts)
    assert "orders" in repr(store.read("orders", 0, 0)[0])
    assert "orders" in repr(store.queues()[0])


def test_a_record_is_appended_once_more_with_another_place_or_with_all_of_it_changed(store: Store) -> None:
    original = Message(
        "waiting",
        b"body",
        properties={"REAL_TOPIC": "orders", "城市": "上海"},
        flag=7,
        sys_flag=1,
        born_timestamp_ms=12,
        born_host="[::1]:7",
        reconsume_times=2,
        prepared_transaction_offset=99,
        store_host="10.0.0.9:10911",
    )
    append_visibly(store, [original])
    (record,) = store.read("waiting", 0, 0)
    assert (record.find_property("REAL_TOPIC"), record.find_property("城市")) == ("orders", "上海")
    assert record.find_property("REAL") is None
    assert record.properties_bytes == original.properties_bytes
    same = Message.copy_of(record, prepared_transaction_offset=99, keeps_store_host=True, sys_flag=1)
    assert same == original
    moved = Message.copy_of(record, topic="orders", queue_id=3)
    assert (moved.topic, moved.queue_id, moved.body, moved.properties) == ("orders", 3, b"body", original.properties)
    assert (moved.reconsume_times, moved.prepared_transaction_offset, moved.store_host) == (2, 0, None)
    changed = Message.copy_of(record, properties={"a": "b"}, reconsume_times=3, sys_flag=8)
    assert (changed.topic, changed.properties, changed.reconsume_times) == ("waiting", {"a": "b"}, 3)
    assert changed.sys_flag == 8
    with pytest.raises(ValueError, match="keeps for itself"):
        Message.copy_of(record, properties={"a": "\x02"})
    append_visibly(store, [same, moved])
    (_, copy) = store.read("waiting", 0, 0)
    assert (copy.store_host, copy.born_host, copy.sys_flag) == ("10.0.0.9:10911", "[::1]:7", record.sys_flag)
    (elsewhere,) = store.read("orders", 3, 0)
    assert elsewhere.store_host == "127.0.0.1:10911"


def test_entries_of_a_queue_tell_where_records_are_and_when_delayed_ones_are_due(tmp_path: Path) -> None:
    with open_small(tmp_path, delay_levels_ms=[10, 20]) as store:
        levels = [Message("SCHEDULE_TOPIC_XXXX", b"a", properties={"DELAY": level}) for level in ("1", "2", "9")]
        receipts = store.append(levels)
        store.append([Message("orders", b"b", tags="paid")])
        store.wait_visible(store.log_end)
        entries = store.entries("SCHEDULE_TOPIC_XXXX", 0, 0)
        assert [entry.queue_offset for entry in entries] == [0, 1, 2]
        assert [entry.log_offset for entry in entries] == [receipt.log_offset for receipt in receipts]
        assert [entry.size_bytes for entry in entries] == [receipt.size_bytes for receipt in receipts]
        stored_ms = receipts[0].store_timestamp_ms
        assert [entry.tags_code - stored_ms for entry in entries] == [10, 20, 20]
        assert store.entries("SCHEDULE_TOPIC_XXXX", 0, 1, count_max=1) == entries[1:2]
        assert store.entries("SCHEDULE_TOPIC_XXXX", 0, 3) == store.entries("nowhere", 0, 0) == []
        (entry,) = store.entries("orders", 0, 0)
        assert entry.tags_code == 3433164


def test_entries_begin_with_the_first_that_is_still_there(tmp_path: Path) -> None:
    with open_small(tmp_path, **EXPIRE_NOW) as store:
        for number in range(200):
            store.append([Message("orders", b"%d" % number + b"." * 200)])
        store.wait_visible(store.log_end)
        assert store.expire().segments_expired > 0
        (queue,) = store.queues()
        assert queue.min_offset > 0
        assert store.entries("orders", 0, 0, count_max=1)[0].queue_offset == queue.min_offset
