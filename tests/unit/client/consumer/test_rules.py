"""What consumers decide, as functions over values."""

import zlib
from pathlib import Path

import pytest
from tests.unit.client.consumer.records import QUEUE, encoded, records

from escrowmq import Message
from escrowmq.client.consumer.allocation import AVG, allocate, config
from escrowmq.client.consumer.local_offsets import load_offsets, offsets_file, save_offsets
from escrowmq.client.consumer.offset_table import OffsetTable
from escrowmq.client.consumer.pull_exchange import Pulled, pull_header, read_pull
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.client.consumer.retry_rules import is_given_up_in_order, retry_properties
from escrowmq.client.consumer.start_place import Search, place_to_begin, rocketmq_name
from escrowmq.client.consumer.subscribing import by_properties, by_tags, second_look, tag_code
from escrowmq.errors import BadBody, BadHeader, BadRecord
from escrowmq.model.message_queue import MessageQueue
from escrowmq.model.place import Place
from escrowmq.protocol.headers.encoding import encode_header
from escrowmq.protocol.messages import Answer

COMPRESSED = 1


# --- who has which queues ---


def test_a_member_that_the_broker_does_not_name_gets_nothing() -> None:
    assert allocate(AVG, "me", [QUEUE], ["somebody"]) == []


def test_configured_queues_are_whose_they_are_configured_to_be() -> None:
    other = MessageQueue("broker-b", 3, "orders")
    assert allocate(config([other]), "me", [QUEUE], ["me", "you"]) == [other]


# --- subscriptions ---


def test_tags_are_hashed_as_java_does() -> None:
    # What Java's String.hashCode says of them.
    assert [tag_code(tag) for tag in ("TagA", "AaAa", "BBBB", "Größe", "\N{GRINNING FACE}")] == [
        2598919, 2031744, 2031744, 69209585, 1772899,
    ]  # fmt: skip


def test_an_expression_of_tags_is_split_at_its_bars() -> None:
    wanted = by_tags("orders", " paid || shipped||", version=7)
    assert (wanted.tags, wanted.codes, wanted.version) == (["paid", "shipped"], [3433164, 2061557075], 7)
    assert by_tags("orders", "", version=7).wants_all
    with pytest.raises(ValueError, match="no expression of tags"):
        by_tags("orders", " || ", version=7)


def test_a_tag_with_the_hash_of_another_is_seen_through() -> None:
    aa, bb = records([Message("orders", b"", tags="AaAa"), Message("orders", b"", tags="BBBB")])
    is_wanted = second_look(by_tags("orders", "AaAa", version=1))
    assert is_wanted is not None
    assert (is_wanted(aa), is_wanted(bb)) == (True, False)


def test_what_the_broker_judges_is_not_judged_again() -> None:
    assert second_look(by_tags("orders", version=1)) is None
    assert second_look(by_properties("orders", "amount > 3", version=1)) is None


# --- pulls ---


def test_a_pull_says_what_rocketmq_reads() -> None:
    wanted = by_tags("orders", "paid", version=7)
    header = pull_header(
        "billing", QUEUE, 5, wanted, commit=3, count_max=32, wait_max_ms=15_000, brings_subscription=False
    )
    assert encode_header(header) == {
        "consumerGroup": "billing", "topic": "orders", "queueId": "0", "queueOffset": "5", "maxMsgNums": "32",
        "sysFlag": "3", "commitOffset": "3", "suspendTimeoutMillis": "15000", "subVersion": "7",
        "expressionType": "TAG",
    }  # fmt: skip
    brought = pull_header(
        "billing", QUEUE, 5, wanted, commit=None, count_max=1, wait_max_ms=0, brings_subscription=True
    )
    assert (brought.system_flag, brought.expression) == (4, "paid")


def test_an_answer_with_messages_has_them_and_where_to_go_on() -> None:
    body = encoded([Message("orders", b"1"), Message("orders", b"2")])
    found = read_pull(QUEUE, Answer(0, None, {"nextBeginOffset": "2", "suggestWhichBrokerId": "1"}, body), None)
    assert (found.kind, found.next_offset) == (Pulled.FOUND, 2)
    assert [message.body for message in found.messages] == [b"1", b"2"]


def test_messages_that_are_not_wanted_are_passed_over() -> None:
    body = encoded([Message("orders", b"1", tags="BBBB"), Message("orders", b"2", tags="AaAa")])
    is_wanted = second_look(by_tags("orders", "AaAa", version=1))
    found = read_pull(QUEUE, Answer(0, None, {"nextBeginOffset": "2"}, body), is_wanted)
    assert [message.body for message in found.messages] == [b"2"]


@pytest.mark.parametrize(
    ("code", "kind"), [(19, Pulled.NOTHING), (20, Pulled.NOTHING), (21, Pulled.MOVED), (24, Pulled.REFUSED)]
)
def test_an_answer_without_messages_says_why(code: int, kind: Pulled) -> None:
    assert read_pull(QUEUE, Answer(code, "why", {"nextBeginOffset": "9"}, b""), None).kind is kind


def test_an_answer_that_is_nonsense_is_an_error() -> None:
    with pytest.raises(BadHeader):
        read_pull(QUEUE, Answer(0, None, {}, b""), None)
    with pytest.raises(BadHeader):
        read_pull(QUEUE, Answer(19, None, {"nextBeginOffset": "soon"}, b""), None)
    with pytest.raises(BadRecord):
        read_pull(QUEUE, Answer(0, None, {"nextBeginOffset": "2"}, b"nonsense"), None)


# --- messages ---


def test_a_message_is_shown_as_it_was_sent() -> None:
    properties = {"UNIQ_KEY": "AB12", "RETRY_TOPIC": "orders", "__SHARDINGKEY": "c-7", "TRAN_MSG": "true"}
    (record,) = records(
        [
            Message(
                "%RETRY%billing", zlib.compress(b"debit"), sys_flag=COMPRESSED, tags="paid", keys=["7", "8"],
                properties=properties, reconsume_times=2, flag=3,
            )
        ]
    )  # fmt: skip
    message = ReceivedMessage(record, MessageQueue("broker-a", 0, "%RETRY%billing"))
    assert (message.topic, message.body, message.tags, message.keys) == ("orders", b"debit", "paid", ("7", "8"))
    assert (message.message_id, message.transaction_id, message.sharding_key) == ("AB12", "AB12", "c-7")
    assert (message.reconsume_times, message.flag, message.queue_offset) == (2, 3, 0)
    assert message.properties["TAGS"] == "paid"
    assert "orders" in repr(message)


def test_a_message_without_an_id_of_its_producer_is_known_by_its_place() -> None:
    (record,) = records([Message("orders", b"")])
    message = ReceivedMessage(record, QUEUE)
    assert message.message_id == message.offset_message_id
    assert message.transaction_id is None


# --- retries ---


def test_in_order_a_message_is_given_up_after_its_tries_and_never_without_a_limit() -> None:
    (record,) = records([Message("orders", b"", reconsume_times=2)])
    message = ReceivedMessage(record, QUEUE)
    assert not is_given_up_in_order(message, 3)
    assert not is_given_up_in_order(message, None)
    message.local_retries = 1
    assert is_given_up_in_order(message, 3)


def test_a_message_that_goes_to_the_retry_topic_says_where_it_came_from() -> None:
    (record,) = records([Message("orders", b"", tags="paid", reconsume_times=1)])
    properties = retry_properties(ReceivedMessage(record, QUEUE), retries_max=16)
    assert properties["RETRY_TOPIC"] == "orders"
    assert properties["ORIGIN_MESSAGE_ID"] == record.offset_message_id
    assert (properties["TAGS"], properties["RECONSUME_TIME"], properties["DELAY"]) == ("paid", "1", "4")


# --- where a group begins ---


@pytest.mark.parametrize(
    ("topic", "committed", "start", "place"),
    [
        ("orders", 5, "latest", 5),
        ("orders", None, "latest", Search.LAST),
        ("orders", None, "earliest", 0),
        ("orders", None, 1_700_000_000_000, Search.BY_TIME),
        ("%RETRY%billing", None, "latest", 0),
        ("%RETRY%billing", None, 1_700_000_000_000, Search.LAST),
    ],
)
def test_a_group_begins_where_it_was_or_where_it_says(
    topic: str, committed: int | None, start: Place, place: int | Search
) -> None:
    assert place_to_begin(topic, committed, start) == place


def test_a_heartbeat_calls_places_as_rocketmq_does() -> None:
    assert [rocketmq_name(start) for start in ("earliest", "latest", 5)] == [
        "CONSUME_FROM_FIRST_OFFSET",
        "CONSUME_FROM_LAST_OFFSET",
        "CONSUME_FROM_TIMESTAMP",
    ]


# --- offsets ---


def test_only_offsets_that_changed_are_to_be_stored() -> None:
    table = OffsetTable()
    table.loaded(QUEUE, 3)
    assert table.unstored() == {}
    table.set(QUEUE, 5)
    assert table.unstored() == {QUEUE: 5}
    assert table.unstored([]) == {}
    table.stored(QUEUE, 4)
    assert table.unstored() == {QUEUE: 5}
    table.stored(QUEUE, 5)
    assert table.unstored() == {}
    table.forget(QUEUE)
    assert table.find(QUEUE) is None


def test_offsets_in_a_file_are_what_java_writes_and_reads(tmp_path: Path) -> None:
    path = offsets_file(tmp_path, "10.0.0.1@DEFAULT", "billing")
    save_offsets(path, {QUEUE: 5})
    assert path.read_bytes() == b'{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"orders"}:5}}'
    assert load_offsets(path) == {QUEUE: 5}
    # Java prints it with blanks, and may write the offset as a text.
    path.write_bytes(b'{\n\t"offsetTable":{{\n"brokerName":"broker-a",\n"queueId":0,\n"topic":"orders"}:6\n\t}\n}')
    assert load_offsets(path) == {QUEUE: 6}


def test_a_file_of_offsets_that_was_torn_is_read_from_its_backup(tmp_path: Path) -> None:
    path = tmp_path / "offsets.json"
    assert load_offsets(path) == {}
    save_offsets(path, {QUEUE: 5})
    save_offsets(path, {QUEUE: 6})
    path.write_bytes(b'{"offsetTable":{{"brok')
    assert load_offsets(path) == {QUEUE: 5}
    path.with_suffix(".json.bak").write_bytes(b"{")
    with pytest.raises(BadBody):
        load_offsets(path)
