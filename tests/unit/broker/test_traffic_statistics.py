"""How much came and went lately, by the notes that are made every ten seconds."""

import pytest

from escrowmq import Traffic
from escrowmq.broker.traffic_statistics import SAMPLE_MS, Amount, TrafficStatistics

MINUTE_MS, HOUR_MS = 60_000, 3_600_000


class Source:
    """Totals, and a clock, in the test's hand."""

    def __init__(self) -> None:
        self.now_ms = 5_000
        self.put: dict[str, Traffic] = {}
        self.got: dict[tuple[str, str], Traffic] = {}
        self.statistics = TrafficStatistics(self, cluster="DefaultCluster", now_ms=lambda: self.now_ms)

    def traffic_in(self) -> dict[str, Traffic]:
        return self.put

    def traffic_out(self) -> dict[tuple[str, str], Traffic]:
        return self.got

    def run(self, time_ms: int) -> None:
        """Lets time go by."""
        for _ in range(time_ms // SAMPLE_MS):
            self.now_ms += SAMPLE_MS
            self.statistics.sample()

    def amount(self, name: str, key: str) -> tuple[Amount, Amount, Amount]:
        """How much there was in the last minute, hour and day."""
        found = self.statistics.find(name, key)
        assert found is not None
        return found.minute, found.hour, found.day


@pytest.fixture
def source() -> Source:
    return Source()


def test_what_came_counts_for_a_minute_an_hour_and_a_day(source: Source) -> None:
    source.put = {"orders": Traffic(messages=600, size_bytes=6_000)}
    source.run(MINUTE_MS)
    minute, hour, _ = source.amount("TOPIC_PUT_NUMS", "orders")
    assert (minute, hour) == (Amount(600, 10.0), Amount(0, 0.0)), "of an hour there is no second note yet"
    assert source.amount("TOPIC_PUT_SIZE", "orders")[0] == Amount(6_000, 100.0)
    assert source.statistics.put_per_s("orders") == 10.0
    source.run(HOUR_MS + 10 * MINUTE_MS)
    minute, hour, day = source.amount("TOPIC_PUT_NUMS", "orders")
    assert (minute.total, hour.total, day.total) == (0, 0, 600), "an hour later it is the day's"
    source.run(25 * HOUR_MS)
    assert source.amount("TOPIC_PUT_NUMS", "orders")[2].total == 0


def test_what_went_counts_by_topic_and_group_and_all_of_it_for_the_cluster(source: Source) -> None:
    source.put = {"orders": Traffic(messages=6, size_bytes=60), "payments": Traffic(messages=1, size_bytes=9)}
    source.got = {("orders", "billing"): Traffic(messages=3, size_bytes=30)}
    source.run(MINUTE_MS)
    assert source.amount("GROUP_GET_NUMS", "orders@billing")[0] == Amount(3, 0.05)
    assert source.amount("GROUP_GET_SIZE", "orders@billing")[0].total == 30
    assert source.statistics.got_per_s("billing", "orders") == 0.05
    assert source.amount("BROKER_PUT_NUMS", "DefaultCluster")[0].total == 7
    assert source.amount("BROKER_GET_NUMS", "DefaultCluster")[0].total == 3


def test_what_there_never_was_is_not_found_and_the_first_of_it_is_at_once(source: Source) -> None:
    source.put = {"orders": Traffic()}
    assert source.statistics.find("TOPIC_PUT_NUMS", "orders") is None
    assert source.statistics.find("TOPIC_PUT_NUMS", "none") is None
    source.put = {"orders": Traffic(messages=1, size_bytes=9)}
    assert source.amount("TOPIC_PUT_NUMS", "orders")[0] == Amount(0, 0.0)


def test_a_topic_that_is_made_again_counts_from_nothing(source: Source) -> None:
    source.put = {"orders": Traffic(messages=100, size_bytes=1)}
    source.run(MINUTE_MS)
    source.put = {"orders": Traffic(messages=30, size_bytes=1)}
    source.run(MINUTE_MS)
    assert source.amount("TOPIC_PUT_NUMS", "orders")[0] == Amount(30, 0.5)
