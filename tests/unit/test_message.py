"""A message is checked and encoded when it is made."""

import time

import pytest

from escrowmq import Message


def test_a_message_keeps_what_it_was_given() -> None:
    message = Message(
        "orders",
        b"body",
        tags="paid",
        keys=["order-1", "customer-2"],
        properties={"amount": "10", "城市": "上海"},
        queue_id=3,
        flag=7,
        sys_flag=8,
        born_timestamp_ms=1_700_000_000_000,
        born_host="[::1]:4711",
        reconsume_times=2,
        prepared_transaction_offset=99,
        store_host="10.0.0.9:10911",
    )
    assert message.topic == "orders"
    assert message.body == b"body"
    assert message.properties == {"TAGS": "paid", "KEYS": "order-1 customer-2", "amount": "10", "城市": "上海"}
    assert message.queue_id == 3
    assert message.flag == 7
    assert message.sys_flag == 8
    assert message.born_timestamp_ms == 1_700_000_000_000
    assert message.born_host == "[::1]:4711"
    assert message.reconsume_times == 2
    assert message.prepared_transaction_offset == 99
    assert message.store_host == "10.0.0.9:10911"


def test_properties_are_encoded_as_rocketmq_does() -> None:
    message = Message("orders", b"", tags="paid", properties={"a": "1"})
    assert message.properties_bytes == b"a\x011\x02TAGS\x01paid\x02"


def test_an_encoded_property_string_is_taken_as_it_is() -> None:
    assert Message("orders", b"", properties=b"a\x011\x02").properties == {"a": "1"}


@pytest.mark.parametrize("body", [b"body", bytearray(b"body"), memoryview(b"-body-")[1:-1]])
def test_a_body_is_anything_with_bytes(body: bytes | bytearray | memoryview) -> None:
    assert Message("orders", body).body == b"body"


def test_a_message_is_born_now_unless_told() -> None:
    before_ms = int(time.time() * 1_000)
    born_ms = Message("orders", b"").born_timestamp_ms
    assert before_ms <= born_ms <= time.time() * 1_000


def test_a_message_does_not_change() -> None:
    message = Message("orders", b"")
    with pytest.raises(AttributeError):
        message.queue_id = 1  # type: ignore[misc]


def test_equal_messages_are_equal() -> None:
    assert Message("a", b"b", born_timestamp_ms=1) == Message("a", b"b", born_timestamp_ms=1)
    assert Message("a", b"b", born_timestamp_ms=1) != Message("a", b"c", born_timestamp_ms=1)


@pytest.mark.parametrize(
    ("properties", "fact"),
    [
        ({"a": "x\x01y"}, "0x01"),
        ({"a\x02": "y"}, "0x02"),
        ({"a": "\x00"}, "0x00"),
        ({"": "y"}, "empty"),
        ({"a": ""}, "empty"),
    ],
)
def test_a_property_that_would_read_back_as_something_else_is_refused(properties: dict[str, str], fact: str) -> None:
    with pytest.raises(ValueError, match=fact):
        Message("orders", b"", properties=properties)


def test_a_key_with_a_space_would_be_two_keys() -> None:
    with pytest.raises(ValueError, match="order 1"):
        Message("orders", b"", keys=["order 1"])


@pytest.mark.parametrize("host", ["nowhere", "127.0.0.1", "localhost:80", "127.0.0.1:99999", ""])
def test_a_host_that_is_no_address_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match="expected address:port"):
        Message("orders", b"", born_host=host)
