"""Consumers that are asked for messages, against a broker in this process."""

import time

import pytest

from escrowmq.client.consumer.options import PullOptions
from escrowmq.client.consumer.pull_consumer import PullConsumer
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.errors import NotThere
from escrowmq.testing import LocalBroker

GROUP = "billing"
EARLIEST = PullOptions(start="earliest")


def test_iteration_gives_every_message_and_what_was_begun_last_comes_again(escrowmq_broker: LocalBroker) -> None:
    _send(escrowmq_broker, 6)
    first = []
    with _subscribed(escrowmq_broker) as consumer:
        for message in consumer:
            first.append(message)
            if len(first) == 3:
                break
    with _subscribed(escrowmq_broker) as consumer:
        second = [message for _, message in zip(range(4), consumer, strict=False)]
    # The third message was not done when the loop ended.
    assert {message.body for message in first[:2] + second} == {b"%d" % number for number in range(6)}


def test_a_poll_that_finds_nothing_ends_in_time_and_one_that_waits_is_woken(escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.create_topic("orders")
    with _subscribed(escrowmq_broker) as consumer:
        began_s = time.monotonic()
        assert consumer.poll(timeout_s=0.05) == []
        assert time.monotonic() - began_s < 5
        _send(escrowmq_broker, 1)
        assert [message.body for message in consumer.poll(timeout_s=10)] == [b"0"]


def test_what_was_polled_is_done_at_the_next_poll_at_the_earliest(escrowmq_broker: LocalBroker) -> None:
    _send(escrowmq_broker, 2, queues=1)
    consumer = _subscribed(escrowmq_broker)
    consumer.start()
    assert len(_poll(consumer, 1)) == 1
    assert len(_poll(consumer, 1)) == 1
    # As a `with` block does that an error leaves.
    consumer.close(finishes=False)
    with _subscribed(escrowmq_broker) as consumer:
        assert [message.body for message in _poll(consumer, 1)] == [b"1"]


def test_only_what_is_committed_counts_where_the_options_say_so(escrowmq_broker: LocalBroker) -> None:
    _send(escrowmq_broker, 4, queues=1)
    options = PullOptions(start="earliest", commits_by_itself=False)
    with _subscribed(escrowmq_broker, options=options) as consumer:
        (queue,) = consumer.queues("orders")
        _poll(consumer, 2)
        consumer.commit()
        _poll(consumer, 2)
        assert consumer.committed(queue) == 2
    with _subscribed(escrowmq_broker, options=options) as consumer:
        assert [message.body for message in _poll(consumer, 2)] == [b"2", b"3"]


def test_queues_may_be_assigned_and_sought_in(escrowmq_broker: LocalBroker) -> None:
    _send(escrowmq_broker, 3, queues=1)
    time.sleep(0.002)
    later_ms = time.time_ns() // 1_000_000
    time.sleep(0.002)
    _send(escrowmq_broker, 2, begin=3, queues=1)
    consumer = PullConsumer(escrowmq_broker.name_server, GROUP)
    try:
        (queue,) = consumer.queues("orders")
        consumer.assign([queue])
        assert consumer.assignment == [queue]
        assert consumer.position(queue) == 5
        consumer.seek(queue, 1)
        assert [message.body for message in _poll(consumer, 2)] == [b"1", b"2"]
        consumer.seek_to(queue, "earliest")
        assert [message.body for message in _poll(consumer, 1)] == [b"0"]
        consumer.seek_to(queue, later_ms)
        assert [message.body for message in _poll(consumer, 2)] == [b"3", b"4"]
        consumer.seek_to(queue, "latest")
        assert consumer.poll(timeout_s=0.01) == []
        consumer.assign([])
        with pytest.raises(NotThere):
            consumer.seek(queue, 0)
    finally:
        consumer.close()


def test_a_queue_that_is_paused_gives_nothing_until_it_is_resumed(escrowmq_broker: LocalBroker) -> None:
    _send(escrowmq_broker, 1, queues=1)
    with _subscribed(escrowmq_broker) as consumer:
        queues = consumer.assignment
        consumer.pause(queues)
        assert consumer.poll(timeout_s=0.05) == []
        consumer.resume(queues)
        assert len(_poll(consumer, 1)) == 1


def test_two_members_of_one_process_divide_the_queues(escrowmq_broker: LocalBroker) -> None:
    _send(escrowmq_broker, 8)
    with _subscribed(escrowmq_broker) as one, _subscribed(escrowmq_broker) as two:
        until_s = time.monotonic() + 10
        while len(one.assignment) != 2:
            assert time.monotonic() < until_s
            time.sleep(0.002)
        assert not set(one.assignment) & set(two.assignment)


def test_a_topic_that_is_not_there_has_no_queues(escrowmq_broker: LocalBroker) -> None:
    consumer = PullConsumer(escrowmq_broker.name_server, GROUP)
    try:
        with pytest.raises(NotThere):
            consumer.queues("nowhere")
    finally:
        consumer.close()


def _send(broker: LocalBroker, count: int, *, begin: int = 0, queues: int = 4) -> None:
    broker.create_topic("orders", queues=queues)
    for number in range(begin, begin + count):
        broker.send("orders", b"%d" % number)


def _subscribed(broker: LocalBroker, *, options: PullOptions = EARLIEST) -> PullConsumer:
    consumer = PullConsumer(broker.name_server, GROUP, options=options)
    consumer.subscribe("orders")
    return consumer


def _poll(consumer: PullConsumer, count: int) -> list[ReceivedMessage]:
    """So many messages; a poll may give less than there are."""
    return consumer.poll(timeout_s=10, count_max=count)
