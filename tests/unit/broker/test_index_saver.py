"""The transaction index is written down beside the broker's thread."""

import threading

import structlog

from escrowmq.broker.index_saver import IndexSaver
from escrowmq.errors import StoreClosed


class HeldIndex:
    """An index whose writing takes until it is let go."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.saves = 0
        self.may_end = threading.Event()
        self._failure = failure

    def save(self) -> bool:
        self.saves += 1
        assert self.may_end.wait(10)
        if self._failure is not None:
            raise self._failure
        return True


def test_one_snapshot_is_written_at_a_time() -> None:
    index = HeldIndex()
    saver = IndexSaver(index)
    saver.begin()
    saver.begin()
    index.may_end.set()
    saver.finish()
    assert index.saves == 1
    saver.begin()
    saver.finish()
    assert index.saves == 2


def test_a_snapshot_that_fails_is_logged_and_costs_nothing_else() -> None:
    index = HeldIndex(StoreClosed("the store is closed"))
    index.may_end.set()
    saver = IndexSaver(index)
    with structlog.testing.capture_logs() as logged:
        saver.begin()
        saver.finish()
    assert [row["event"] for row in logged] == ["transactions not written down"]


def test_there_is_nothing_to_wait_for_before_the_first() -> None:
    IndexSaver(HeldIndex()).finish()
