"""Messages by key and by log offset."""

import pytest
from tests.unit.broker.desk import Desk, TestRecord, TestStore

from escrowmq.broker_config import BrokerConfig
from escrowmq.protocol.response_codes import ResponseCode

QUERY, VIEW = 12, 33
RANGE = {"topic": "orders", "beginTimestamp": "5", "endTimestamp": "9"}


def query(store: TestStore, **fields: str) -> Desk:
    """A desk that was asked for a key, of which the store finds three messages."""
    desk = Desk(store=store)
    desk.ask(QUERY, {**RANGE, "key": "k", "maxNum": "10", **fields})
    return desk


def test_the_newest_messages_come_oldest_first() -> None:
    store = TestStore()
    store.found = [b"third", b"second", b"first"]
    answer = Desk(store=store).ask(QUERY, {**RANGE, "key": "k", "maxNum": "2"})
    assert (answer.code, answer.body) == (ResponseCode.SUCCESS, b"secondthird")
    assert answer.ext_fields == {"indexLastUpdatePhyoffset": "9", "indexLastUpdateTimestamp": "1000"}
    assert store.searches == [("orders", "k", 2, 5, 9)]


def test_where_nothing_is_found_it_is_said_so() -> None:
    answer = Desk().ask(QUERY, {**RANGE, "key": "k", "maxNum": "2"})
    assert (answer.code, answer.body) == (ResponseCode.QUERY_NOT_FOUND, b"")
    assert answer.remark == "can not find message, maybe time range not correct"
    assert answer.ext_fields == {"indexLastUpdatePhyoffset": "0", "indexLastUpdateTimestamp": "0"}


@pytest.mark.parametrize(
    ("fields", "searched"),
    [
        ({"maxNum": "1000000"}, ("k", 64)),
        ({"maxNum": "-1"}, ("k", 0)),
        ({"maxNum": "1", "_UNIQUE_KEY_QUERY": "true"}, ("k", 32)),
        ({"maxNum": "1", "_UNIQUE_KEY_QUERY": "false"}, ("k", 1)),
        ({"indexType": "T"}, ("T#k", 10)),
        ({"indexType": "K", "lastKey": "x"}, ("k", 10)),
        ({"indexType": "T", "_UNIQUE_KEY_QUERY": "true"}, ("k", 32)),
    ],
)
def test_it_is_searched_for_as_many_as_are_wanted_but_no_more_than_allowed(
    fields: dict[str, str], searched: tuple[str, int]
) -> None:
    store = TestStore()
    query(store, **fields)
    assert [search[1:3] for search in store.searches] == [searched]


def test_what_does_not_fit_into_a_frame_is_left_out_oldest_first() -> None:
    store = TestStore()
    store.found = [b"n" * 600, b"o" * 600]
    answer = Desk(store=store, config=BrokerConfig(frame_size_max_bytes=65_536 + 1_000)).ask(
        QUERY, {**RANGE, "key": "k", "maxNum": "9"}
    )
    assert answer.body == b"n" * 600


def test_a_message_is_found_by_its_log_offset() -> None:
    store = TestStore()
    store.records[7] = TestRecord(bytes=b"record")
    desk = Desk(store=store)
    assert desk.ask(VIEW, {"offset": "7", "topic": "orders"}).body == b"record"
    for offset in ("8", "-1"):
        answer = desk.ask(VIEW, {"offset": offset})
        assert (answer.code, answer.remark) == (1, f"can not find message by the offset, {offset}")
