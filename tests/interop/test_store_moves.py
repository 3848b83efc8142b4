"""A store directory moves between EscrowMQ and a real Apache RocketMQ broker, both ways, however its writer ended.

What each side wrote is compared field by field with what the other serves. Both sides use small files, so that logs,
queues and key indexes roll over several times.
"""

import base64
import itertools
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from tests.interop import apache, endings, ours, raw_log, scenario
from tests.interop.apache import Apache
from tests.interop.installation import Installation
from tests.interop.java_process import ApacheError, Row
from tests.interop.scenario import HALF_TOPIC, OP_TOPIC, TOPICS, Acknowledged, Receipt

from escrowmq.errors import StoreInUse

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


# --- from us to Apache, and back --------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", endings.ALL, ids=lambda end: str(end.__name__))
def test_apache_serves_what_we_wrote_and_we_serve_what_it_added(
    end: Callable[[Path], Acknowledged], store: Path, installation: Installation, tmp_path: Path
) -> None:
    acknowledged = end(store)
    assert_files_rolled_over(store)
    apache.declare_topics(store, scenario.QUEUE_COUNTS)

    with Apache(installation, store, scratch=tmp_path) as broker:
        served = broker.dump(*TOPICS)
        assert_is_what_we_wrote(served, acknowledged)
        assert_log_holds(store, acknowledged)
        with pytest.raises(StoreInUse):
            ours.open_store(store)
        sent = broker.produce("orders", rounds=12, prefix="from-apache")
        everything = broker.dump(*TOPICS)
        broker.stop()

    assert_same_messages((row for row in everything if row["logOffset"] <= _last_offset(served)), served)
    assert_holds_what_was_sent(everything, sent)
    assert_we_serve(store, everything)
    assert_we_can_go_on(store, everything)


def test_apache_finds_our_messages_by_key(store: Path, installation: Installation, tmp_path: Path) -> None:
    acknowledged = endings.closed(store)
    apache.declare_topics(store, scenario.QUEUE_COUNTS)
    # One from the oldest key-index file, one from the newest, and a key that many messages share.
    keyed = [number for number in acknowledged if "KEYS" in scenario.planned(number).properties]
    wanted = {
        f"{planned.topic}#{planned.properties['KEYS'].split()[-1]}"
        for planned in map(scenario.planned, [*keyed[:8], *keyed[-8:]])
        if planned.is_queued
    }

    with Apache(installation, store, scratch=tmp_path) as broker:
        found = broker.dump(*sorted(wanted))

    expected = [
        {**planned.row(acknowledged[number]), "selector": f"{planned.topic}#{key}"}
        for number in keyed
        for planned in [scenario.planned(number)]
        for key in planned.properties["KEYS"].split()
        if planned.is_queued and f"{planned.topic}#{key}" in wanted
    ]
    assert sorted(found, key=_by_selector) == sorted(expected, key=_by_selector)


def test_apache_builds_the_same_queues_from_our_log(store: Path, installation: Installation, tmp_path: Path) -> None:
    endings.closed(store)
    apache.declare_topics(store, scenario.QUEUE_COUNTS)
    queues = _contents(store / "consumequeue")
    for name in ("consumequeue", "index"):
        shutil.rmtree(store / name)
    (store / "checkpoint").unlink()
    # As after a crash: Apache then reads the whole log again.
    (store / "abort").write_text("0")

    with Apache(installation, store, scratch=tmp_path) as broker:
        broker.stop()

    rebuilt = _contents(store / "consumequeue")
    assert sorted(rebuilt) == sorted(queues)
    assert [name for name in queues if rebuilt[name] != queues[name]] == []


def test_apache_decides_our_half_messages(store: Path, installation: Installation, tmp_path: Path) -> None:
    """Half messages that we stored are asked about, committed and rolled back by Apache and a Java producer."""
    halves = [
        scenario.half_message(number, topic="payments", queue_id=number % 4, text=b"%s %d" % (answer, number))
        for number, answer in enumerate([b"commit", b"rollback"] * 4)
    ]
    with ours.open_store(store) as opened:
        ours.append(opened, halves)
    apache.declare_topics(store, scenario.QUEUE_COUNTS)

    check_often = {"transactionCheckInterval": "3000", "transactionTimeOut": "100", "transactionCheckMax": "1000"}
    with Apache(installation, store, scratch=tmp_path, options=check_often) as broker:
        questions = broker.answer(scenario.PRODUCER_GROUP, "payments", transactions=len(halves))
        everything = broker.dump("payments", HALF_TOPIC, OP_TOPIC)
        broker.stop()

    asked = {question["transactionId"] for question in questions}
    assert asked == {half.properties["UNIQ_KEY"] for half in halves}
    finals = [row for row in everything if row["topic"] == "payments"]
    committed = [half for half in halves if half.text.startswith(b"commit")]
    # Sets, since Apache may ask again while it carries an answer out, and then delivers twice.
    assert {(row["msgId"], row["queueId"], base64.b64decode(row["body"])) for row in finals} == {
        (half.properties["UNIQ_KEY"], int(half.properties["REAL_QID"]), half.text) for half in committed
    }
    assert_we_serve(store, everything)


def test_apache_refuses_a_store_that_we_have_open(store: Path, installation: Installation, tmp_path: Path) -> None:
    with ours.open_store(store) as opened:
        acknowledged = ours.append(opened, next(scenario.batches()))

        with (
            pytest.raises(ApacheError, match="broker exited") as refusal,
            Apache(installation, store, scratch=tmp_path),
        ):
            pass

        assert "Lock failed" in "".join(refusal.value.__notes__)
        assert_is_what_we_wrote(ours.read_all(opened), acknowledged)


# --- from Apache to us, and back --------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [Apache.stop, Apache.kill], ids=["stopped", "killed"])
def test_we_serve_what_apache_wrote_and_apache_serves_what_we_added(
    end: Callable[[Apache], None], store: Path, installation: Installation, tmp_path: Path
) -> None:
    apache.declare_topics(store, scenario.QUEUE_COUNTS)
    with Apache(installation, store, scratch=tmp_path) as broker:
        sent = broker.produce("orders", rounds=25, prefix="first")
        written = broker.dump(*TOPICS)
        end(broker)
    assert_holds_what_was_sent(written, sent)
    assert_files_rolled_over(store)
    assert_we_serve(store, written)

    acknowledged: Acknowledged = {}
    with ours.open_store(store) as opened:
        for batch in itertools.islice(scenario.batches(), endings.BATCHES):
            acknowledged |= ours.append(opened, batch)
        everything = ours.read_all(opened)

    with Apache(installation, store, scratch=tmp_path) as broker:
        served = broker.dump(*TOPICS)
        assert_same_messages(served, everything)
        assert_is_what_we_wrote(_ours(served), acknowledged, first_offset=None)
        assert_same_messages((row for row in served if not _is_ours(row)), written)
        sent = broker.produce("ledger", rounds=3, prefix="second")
        everything = broker.dump(*TOPICS)
        end(broker)
    assert_holds_what_was_sent(everything, sent)
    assert_we_serve(store, everything)


# --- what must hold ---------------------------------------------------------------------------------------------------


def assert_is_what_we_wrote(rows: Iterable[Row], acknowledged: Acknowledged, *, first_offset: int | None = 0) -> None:
    """All that was acknowledged is there, nothing is there that was not written, and no queue skips.

    A message that the writer had no time to acknowledge may be there or not. Where somebody else wrote to the queues
    before, `first_offset` is None and offsets need only be consecutive.
    """
    served: dict[int, Row] = {}
    for row in rows:
        number = int(row["properties"]["number"])
        assert number not in served, f"message {number} is served twice"
        served[number] = _without_selector(row)
    receipts = {number: _receipt(row) for number, row in served.items()} | acknowledged
    expected = {
        number: planned.row(receipt)
        for number, receipt in sorted(receipts.items())
        if (planned := scenario.planned(number)).is_queued
    }
    assert_same_messages(served.values(), expected.values())

    offsets: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row in expected.values():
        offsets[row["topic"], row["queueId"]].append(row["queueOffset"])
    for queue, found in offsets.items():
        start = found[0] if first_offset is None else first_offset
        assert found == list(range(start, start + len(found))), f"queue {queue} skips or turns back"


def assert_log_holds(store: Path, acknowledged: Acknowledged) -> None:
    """Each acknowledged record begins in the log where its receipt says, whether a queue shows it or not."""
    held = {record.offset: record for record in raw_log.records(store)}
    for number, receipt in acknowledged.items():
        planned = scenario.planned(number)
        record = held[receipt.log_offset]
        assert (record.size, record.topic, record.queue_id) == (receipt.size, planned.topic, planned.queue_id)
        assert record.queue_offset == (receipt.queue_offset if planned.is_queued else 0)
        assert record.body == planned.body
        assert record.sys_flag & ~scenario.BORN_HOST_IPV6 == planned.sys_flag


def assert_holds_what_was_sent(rows: Iterable[Row], sent: Iterable[Row]) -> None:
    """Every message of `Produce` is where its send result said, and a transaction where its outcome puts it."""
    by_place = {(row["topic"], row["queueId"], row["queueOffset"]): row for row in rows}
    by_id: dict[str, list[str]] = defaultdict(list)
    for row in by_place.values():
        by_id[row["msgId"]].append(row["topic"])
    for message in sent:
        if message["kind"] in ("commit", "rollback", "unknow"):
            final = [message["topic"]] if message["kind"] == "commit" else []
            assert sorted(by_id[message["msgId"]]) == sorted([*final, HALF_TOPIC]), message
        else:
            row = by_place[message["topic"], message["queueId"], message["queueOffset"]]
            assert (row["offsetMsgId"], row["body"]) == (message["offsetMsgId"], message["body"])
            assert (row["properties"].get("TAGS"), row["properties"].get("KEYS")) == (message["tags"], message["keys"])


def assert_we_serve(store: Path, rows: Sequence[Row]) -> None:
    """Opened by us, the store holds these messages and no others, and finds them by every key that they have."""
    offsets: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in rows:
        for key in row["properties"].get("KEYS", "").split():
            offsets[row["topic"], key].append(row["logOffset"])
    with ours.open_store(store) as opened:
        assert_same_messages(ours.read_all(opened), rows)
        for (topic, key), expected in offsets.items():
            found = opened.find_by_key(topic, key, count_max=len(rows))
            assert sorted(record.log_offset for record in found) == sorted(expected), f"key {key} of {topic}"


def assert_we_can_go_on(store: Path, rows: Sequence[Row]) -> None:
    """Appended to, closed and opened again by us, the store holds these messages and the new ones."""
    batch = next(scenario.batches(first_number=1_000_000))
    with ours.open_store(store) as opened:
        acknowledged = ours.append(opened, batch)
    added = [planned.row(acknowledged[planned.number]) for planned in batch if planned.is_queued]
    assert_we_serve(store, [*rows, *added])


def assert_files_rolled_over(store: Path) -> None:
    """The store is no toy: its log, a queue and its key index have several files."""
    assert len(raw_log.segments(store)) > 3
    assert len(list((store / "index").iterdir())) > 1
    assert max(len(list(queue.iterdir())) for queue in (store / "consumequeue").glob("*/*")) > 1


def assert_same_messages(found: Iterable[Row], expected: Iterable[Row]) -> None:
    """The same messages, field by field; the first difference is named, since thousands of rows are no message."""
    found_at = _by_log_offset(found)
    expected_at = _by_log_offset(expected)
    for offset, row in sorted(expected_at.items()):
        assert offset in found_at, f"missing: {row}"
        assert found_at[offset] == row
    unexpected = [row for offset, row in sorted(found_at.items()) if offset not in expected_at]
    assert unexpected[:1] == []


# --- small change -----------------------------------------------------------------------------------------------------


def _receipt(row: Row) -> Receipt:
    return Receipt(row["logOffset"], row["queueOffset"], row["size"], row["storeTimestamp"])


def _is_ours(row: Row) -> bool:
    return "number" in row["properties"]


def _ours(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if _is_ours(row)]


def _by_log_offset(rows: Iterable[Row]) -> dict[int, Row]:
    placed: dict[int, Row] = {}
    for row in rows:
        assert row["logOffset"] not in placed, f"the record is in a queue twice: {row}"
        placed[row["logOffset"]] = _without_selector(row)
    return placed


def _without_selector(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "selector"}


def _by_selector(row: Row) -> tuple[str, int]:
    return row["selector"], row["logOffset"]


def _last_offset(rows: Iterable[Row]) -> int:
    return max(int(row["logOffset"]) for row in rows)


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
