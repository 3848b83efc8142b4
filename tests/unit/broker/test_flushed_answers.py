"""Answers that wait for a flush of their own: one for all that wait, and none that fails acknowledges anything."""

import threading
from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from escrowmq.broker.flushed_answers import FlushedAnswers
from escrowmq.errors import StorePoisoned

PATIENCE_S = 10.0


class SlowDisk:
    """A flush that lasts until a test lets it end."""

    def __init__(self) -> None:
        self.begun: SimpleQueue[None] = SimpleQueue()
        self.ending: SimpleQueue[Exception | None] = SimpleQueue()
        self.answered: SimpleQueue[tuple[list[str], bool]] = SimpleQueue()

    def flush(self) -> None:
        self.begun.put(None)
        error = self.ending.get(timeout=PATIENCE_S)
        if error is not None:
            raise error

    def answer(self, answers: list[str], is_durable: bool) -> None:  # noqa: FBT001 - as it is called
        self.answered.put((answers, is_durable))

    def next_answered(self) -> tuple[list[str], bool]:
        return self.answered.get(timeout=PATIENCE_S)


@pytest.fixture
def disk() -> SlowDisk:
    return SlowDisk()


@pytest.fixture
def answers(disk: SlowDisk) -> Iterator[FlushedAnswers[str]]:
    made = FlushedAnswers(disk.flush, disk.answer)
    yield made
    made.close()
    assert "escrowmq-flush" not in [thread.name for thread in threading.enumerate()]


def test_what_comes_during_a_flush_shares_the_next_one(answers: FlushedAnswers[str], disk: SlowDisk) -> None:
    answers.add(["A"])
    disk.begun.get(timeout=PATIENCE_S)
    # This flush has begun before them, and says nothing about them.
    answers.add(["B"])
    answers.add(["C", "D"])
    disk.ending.put(None)
    assert disk.next_answered() == (["A"], True)
    disk.ending.put(None)
    assert disk.next_answered() == (["B", "C", "D"], True)
    assert disk.begun.qsize() == 1


def test_after_a_flush_that_failed_nothing_is_acknowledged(answers: FlushedAnswers[str], disk: SlowDisk) -> None:
    answers.add(["A"])
    disk.ending.put(StorePoisoned("the disk is gone"))
    assert disk.next_answered() == (["A"], False)


def test_who_waits_when_it_closes_is_answered(disk: SlowDisk) -> None:
    answers = FlushedAnswers(disk.flush, disk.answer)
    answers.add(["A"])
    disk.ending.put(None)
    answers.close()
    assert disk.next_answered() == (["A"], True)
