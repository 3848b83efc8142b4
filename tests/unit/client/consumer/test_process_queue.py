"""What was pulled and is not done."""

import pytest
from tests.unit.client.consumer.records import QUEUE, received

from escrowmq.client.consumer.limits import FetchLimits, is_full
from escrowmq.client.consumer.process_queue import Batch, ProcessQueue


@pytest.fixture
def queue() -> ProcessQueue:
    """Ten messages, from offset 0 on, of which the pull after offset 12 is next: two were filtered out."""
    queue = ProcessQueue(QUEUE, 0)
    assert queue.put(received(10), begin=0, next_offset=12)
    return queue


def test_the_offset_to_commit_is_the_first_that_is_not_done(queue: ProcessQueue) -> None:
    first, second, third = _take(queue, 4), _take(queue, 4), _take(queue, 4)
    assert queue.offset_to_commit() == 0
    queue.finish(second)
    assert queue.offset_to_commit() == 0
    queue.finish(first)
    assert queue.offset_to_commit() == 8
    queue.finish(third)
    assert queue.offset_to_commit() == 12
    assert (queue.count, queue.size_bytes, queue.has_taken) == (0, 0, False)


def test_what_is_not_taken_holds_the_offset_back(queue: ProcessQueue) -> None:
    queue.finish(_take(queue, 3))
    assert queue.offset_to_commit() == queue.offset_taken() == 3


def test_messages_that_stay_hold_the_offset_back_and_the_others_are_gone(queue: ProcessQueue) -> None:
    batch = _take(queue, 4)
    queue.keep(batch, [batch.messages[2]])
    assert queue.offset_to_commit() == 2
    assert queue.count == 7
    queue.finish(batch)
    queue.finish(batch)
    assert (queue.count, queue.offset_to_commit()) == (6, 4)


def test_what_is_given_back_goes_out_again_before_all_others(queue: ProcessQueue) -> None:
    batch = _take(queue, 2)
    queue.give_back(batch)
    assert [message.queue_offset for message in _take(queue, 3).messages] == [0, 1, 2]


def test_a_pull_that_was_asked_for_before_the_queue_moved_brings_nothing(queue: ProcessQueue) -> None:
    taken = _take(queue, 2)
    queue.restart(5)
    assert not queue.put(received(1), begin=12, next_offset=13)
    queue.finish(taken)
    assert (queue.next_offset, queue.offset_to_commit(), queue.count) == (5, 5, 0)
    assert queue.put(received(1), begin=5, next_offset=6)


def test_a_dropped_queue_gives_nothing_out_and_what_is_taken_may_still_be_done(queue: ProcessQueue) -> None:
    batch = _take(queue, 4)
    queue.drop()
    assert queue.take(1) is None
    assert not queue.put(received(1), begin=12, next_offset=13)
    assert queue.offset_to_commit() == 0
    queue.finish(batch)
    assert queue.offset_to_commit() == 4


def test_a_queue_is_full_by_count_by_size_and_by_span(queue: ProcessQueue) -> None:
    assert not is_full(queue, FetchLimits())
    assert is_full(queue, FetchLimits(count_max=10))
    assert is_full(queue, FetchLimits(size_max_bytes=queue.size_bytes))
    assert is_full(queue, FetchLimits(span_max=12))


def test_an_empty_queue_is_never_full() -> None:
    assert not is_full(ProcessQueue(QUEUE, 0), FetchLimits(count_max=0, size_max_bytes=0, span_max=0))


def _take(queue: ProcessQueue, count_max: int) -> Batch:
    batch = queue.take(count_max)
    assert batch is not None
    return batch
