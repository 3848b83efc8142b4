"""What is appended without the fast lane is counted."""

import pytest
from tests.unit.broker.desk import TestStore

from escrowmq import Message
from escrowmq.broker.counted_log import CountedLog
from escrowmq.errors import BadMessage


class Counters:
    """What was counted."""

    def __init__(self) -> None:
        self.counted: list[tuple[str, int, int]] = []

    def count_in(self, topic: str, *, messages: int, size_bytes: int) -> None:
        self.counted.append((topic, messages, size_bytes))


def test_what_is_appended_is_counted_by_topic_and_what_is_refused_is_not() -> None:
    store, counters = TestStore(), Counters()
    log = CountedLog(store, counters)
    receipts = log.append([Message("orders", b"one"), Message("payments", b"two"), Message("orders", b"three")])
    assert [receipt.queue_offset for receipt in receipts] == [0, 0, 1]
    assert counters.counted == [("orders", 2, 8), ("payments", 1, 3)]
    with pytest.raises(BadMessage):
        log.append([Message("orders", b"bad")])
    assert len(counters.counted) == 2
    assert log.append([]) == []
