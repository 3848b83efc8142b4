"""Tables by queue, as servers of both kinds write them."""

import pytest

from escrowmq.errors import BadBody
from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol.bodies.consume_stats import ConsumeStats, QueueProgress, decode_consume_stats
from escrowmq.protocol.bodies.queue_offsets import decode_queue_offsets, encode_queue_offsets
from escrowmq.protocol.bodies.topic_stats import TopicOffset, decode_topic_stats, encode_topic_stats

QUEUE = MessageQueue("broker-a", 2, "orders")
KEY = b'{"brokerName":"broker-a","queueId":2,"topic":"orders"}'


def test_what_our_servers_write_is_read() -> None:
    offsets = {QUEUE: TopicOffset(3, 2, 1)}
    assert decode_topic_stats(encode_topic_stats(offsets, put_per_s=0.0)) == offsets
    progress = {QUEUE: QueueProgress(4, 3, 2, 1)}
    assert decode_consume_stats(ConsumeStats(0.0, progress).encode()) == progress
    assert decode_queue_offsets(encode_queue_offsets({QUEUE: 5})) == {QUEUE: 5}


def test_a_broker_from_before_5_does_not_tell_what_was_pulled() -> None:
    body = b'{"offsetTable":{%s:{"brokerOffset":4,"consumerOffset":3,"lastTimestamp":2}}}' % KEY
    assert decode_consume_stats(body) == {QUEUE: QueueProgress(4, 3, 2, 0)}


def test_no_table_is_an_empty_one() -> None:
    assert decode_queue_offsets(b"{}") == {}


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"offsetTable":1}', b'{"offsetTable":{"a":1}}', b'{"offsetTable":{%s:"x"}}' % KEY]
)
def test_what_is_no_table_is_refused(body: bytes) -> None:
    with pytest.raises(BadBody):
        decode_queue_offsets(body)
