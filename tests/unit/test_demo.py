"""The demonstration's books notice what they are there to notice."""

import pytest

from escrowmq.demo.tally import QUEUES, Tally, numbered


@pytest.fixture
def tally() -> Tally:
    """Two messages in every queue: sent, acknowledged and read."""
    tally = Tally()
    numbers = tally.take_next(2 * len(QUEUES))
    tally.acknowledged.update(numbers)
    for number in numbers:
        enter(tally, number)
    return tally


def enter(tally: Tally, number: int) -> None:
    message = numbered(number)
    tally.enter_read((message.topic, message.queue_id), [(message.key, message.body)])


def test_what_was_read_once_unchanged_and_in_order_is_whole(tally: Tally) -> None:
    assert tally.is_whole()
    assert tally.sent == 12


def test_a_message_that_was_never_acknowledged_may_be_there_or_not(tally: Tally) -> None:
    first, _ = tally.take_next(2)
    enter(tally, first)
    assert tally.is_whole()


def test_an_acknowledged_message_that_is_not_read_is_lost(tally: Tally) -> None:
    tally.acknowledged.update(tally.take_next(1))
    assert tally.lost() == 1
    assert not tally.is_whole()


@pytest.mark.parametrize("number", [0, 6])
def test_a_message_that_comes_twice_or_late_is_misplaced(tally: Tally, number: int) -> None:
    enter(tally, number)
    assert tally.misplaced() == 1
    assert not tally.is_whole()


@pytest.mark.parametrize(("place", "body"), [(QUEUES[0], b"other"), (QUEUES[1], numbered(12).body)])
def test_another_body_or_another_queue_is_a_change(tally: Tally, place: tuple[str, int], body: bytes) -> None:
    tally.acknowledged.update(tally.take_next(1))
    tally.enter_read(place, [("key-12", body)])
    assert tally.changed == 1
    assert not tally.is_whole()
