"""Work that no request asks for."""

import math

from escrowmq.broker.background import PAUSE_AFTER_FAILURE_MS, Background
from escrowmq.broker.durable_progress import DurableProgress


class Clock:
    """Time in the test's hand."""

    def __init__(self) -> None:
        self.now_ms = 1_000

    def __call__(self) -> int:
        return self.now_ms


class Chore:
    """Work that is due at a time, once."""

    def __init__(self, clock: Clock, due_ms: float, *, fails: bool = False) -> None:
        self.clock = clock
        self.due_ms = due_ms
        self.fails = fails
        self.runs = 0

    def wait_ms(self) -> float:
        return self.due_ms - self.clock()

    def run(self) -> None:
        self.runs += 1
        if self.fails:
            raise OSError(28, "No space left on device")
        self.due_ms = math.inf


def test_only_what_is_due_is_done() -> None:
    clock = Clock()
    now, later = Chore(clock, 1_000), Chore(clock, 1_500)
    background = Background([now, later], now_ms=clock)
    assert background.wait_ms() == 0
    background.run()
    assert (now.runs, later.runs, background.wait_ms()) == (1, 0, 500)
    clock.now_ms = 1_500
    background.run()
    assert (now.runs, later.runs, background.wait_ms()) == (1, 1, math.inf)
    assert Background([], now_ms=clock).wait_ms() == math.inf


def test_work_that_fails_pauses_and_keeps_no_other_from_being_done() -> None:
    clock = Clock()
    failing, other = Chore(clock, 1_000, fails=True), Chore(clock, 1_000)
    background = Background([failing, other], now_ms=clock)
    background.run()
    background.run()
    assert (failing.runs, other.runs, background.wait_ms()) == (1, 1, PAUSE_AFTER_FAILURE_MS)
    clock.now_ms += PAUSE_AFTER_FAILURE_MS
    failing.fails = False
    background.run()
    assert (failing.runs, background.wait_ms()) == (2, math.inf)


def test_progress_counts_when_what_it_tells_of_is_on_disk() -> None:
    progress = DurableProgress(3)
    progress.reach(4, end_offset=100)
    progress.reach(6, end_offset=250)
    assert [progress.durable(end) for end in (0, 99, 100, 249, 250, 300)] == [3, 3, 4, 4, 6, 6]
