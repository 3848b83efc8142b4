"""Maps whose keys are objects: written for Java, read from it, and whatever a client makes of them costs it alone."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from escrowmq.errors import BadBody
from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol import object_keys
from escrowmq.protocol.bodies.consumer_status import decode_client_status, encode_consumer_status

TEXTS = st.text(max_size=20)
QUEUES = st.builds(MessageQueue, TEXTS, st.integers(0, 9), TEXTS)


def test_a_map_is_written_as_fastjson_does() -> None:
    written = object_keys.encode_map([(MessageQueue("broker-a", 2, "orders"), 5), (MessageQueue("b", 0, "t"), {1: 2})])
    assert written == (
        b'{{"brokerName":"broker-a","queueId":2,"topic":"orders"}:5,{"brokerName":"b","queueId":0,"topic":"t"}:{1:2}}'
    )


@given(st.dictionaries(QUEUES, st.integers(-(2**63), 2**63 - 1), max_size=5))
def test_what_is_written_is_read(offsets: dict[MessageQueue, int]) -> None:
    body = b'{"messageQueueTable": %s}' % object_keys.encode_map(offsets.items())
    assert decode_client_status(body) == offsets


@given(st.recursive(st.none() | st.integers() | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)))
def test_plain_json_stays_what_it_is(value: object) -> None:
    assert json.loads(object_keys.with_text_keys(json.dumps(value, indent=1).encode())) == value


@given(st.binary(max_size=60) | st.text('{}[],:"\\ 1a', max_size=60).map(str.encode))
def test_nonsense_is_refused_or_read_but_nothing_else(data: bytes) -> None:
    try:
        written = object_keys.with_text_keys(data)
    except BadBody:
        return
    assert len(written) <= 6 * len(data) + 8


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b" " * (object_keys.SIZE_MAX_BYTES + 1), "bytes"),
        (b"{" * 10_000, "a key in a key"),
        (b"[" * 10_000, "not closed"),
        (b"]", "not opened"),
        (b"[}", "not opened"),
        (b'{"a":[{"b":1}', "not closed"),
        (b"{{{1:2}:3}:4}", "a key in a key"),
    ],
)
def test_what_can_not_be_read_is_refused_by_name(data: bytes, reason: str) -> None:
    with pytest.raises(BadBody, match=reason):
        object_keys.with_text_keys(data)


@pytest.mark.parametrize("body", [b'{"messageQueueTable":{"no queue":1}}', b'{"messageQueueTable":{{"queueId":0}:1}}'])
def test_a_queue_that_is_none_is_refused(body: bytes) -> None:
    with pytest.raises(BadBody):
        decode_client_status(body)


def test_what_consumers_say_is_gathered_by_client() -> None:
    body = encode_consumer_status({"one": {MessageQueue("b", 0, "t"): 5}, "two": {}})
    assert body == (
        b'{"consumerTable":{"one":{{"brokerName":"b","queueId":0,"topic":"t"}:5},"two":{}},"messageQueueTable":{}}'
    )
