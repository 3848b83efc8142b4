"""What the broker did each second of the last ten seconds, minute and ten minutes, and since the last midnights."""

from datetime import datetime

from escrowmq.broker.work_statistics import Work, WorkStatistics

SAMPLE_MS = 10_000
DAY_MS = 86_400_000


class Worker:
    """Work, and both clocks, in the test's hand."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.began_ms = int(datetime(2026, 11, 18, 23, 0).astimezone().timestamp()) * 1_000
        self.work = Work()
        self.statistics = WorkStatistics(
            lambda: self.work, now_ms=lambda: self.now_ms, wall_ms=lambda: self.began_ms + self.now_ms
        )

    def run(self, samples: int, *, puts: int = 0) -> None:
        """Lets time go by, with as many messages before each note."""
        for _ in range(samples):
            self.now_ms += SAMPLE_MS
            self.work = Work(messages_put=self.work.messages_put + puts)
            self.statistics.sample()


def test_a_rate_is_that_of_its_window_and_none_while_the_window_is_not_over() -> None:
    worker = Worker()
    assert worker.statistics.per_s("messages_put") == [None, None, None]
    worker.run(1, puts=50)
    assert worker.statistics.per_s("messages_put") == [5.0, None, None]
    worker.run(5, puts=10)
    assert worker.statistics.per_s("messages_put") == [1.0, 100 / 60, None]
    worker.run(60)
    assert worker.statistics.per_s("messages_put") == [0.0, 0.0, 0.0]
    assert worker.statistics.per_s("pulls_found") == [0.0, 0.0, 0.0]


def test_at_midnight_the_morning_becomes_the_one_of_yesterday() -> None:
    worker = Worker()
    worker.run(1, puts=7)
    assert worker.statistics.this_morning.messages_put == 0
    worker.run(360)
    assert worker.statistics.this_morning.messages_put == 7
    worker.run(1, puts=2)
    worker.now_ms += DAY_MS
    worker.run(1)
    assert (worker.statistics.yesterday_morning.messages_put, worker.statistics.this_morning.messages_put) == (7, 9)
    assert worker.statistics.now().messages_put == 9
