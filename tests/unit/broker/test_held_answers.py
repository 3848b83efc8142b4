"""Answers that wait for name servers, and what else is done at its time."""

import math

from escrowmq.broker.held_answers import HeldAnswers
from escrowmq.broker.housekeeping import Task, Timetable


def test_answers_go_out_when_all_name_servers_have_answered() -> None:
    held: HeldAnswers[str] = HeldAnswers(wait_ms=1_000)
    held.hold(["a", "b"], {(1, 1), (2, 1)}, now_ms=0)
    held.hold(["c"], {(1, 2)}, now_ms=1)
    held.hold([], {(1, 3)}, now_ms=1)
    assert held.release({(1, 1), (1, 2)}, now_ms=2) == []
    assert held.release({(1, 2), (9, 9)}, now_ms=3) == ["a", "b"]
    assert held.release((), now_ms=3) == ["c"]
    assert held.next_deadline_ms() == math.inf


def test_answers_do_not_wait_for_ever() -> None:
    held: HeldAnswers[str] = HeldAnswers(wait_ms=1_000)
    held.hold(["a"], {(1, 1)}, now_ms=5)
    assert held.next_deadline_ms() == 1_005
    assert held.release({(1, 1)}, now_ms=1_004) == []
    assert held.release({(1, 1)}, now_ms=1_005) == ["a"]


def test_tasks_run_at_their_intervals_and_one_that_fails_keeps_no_other() -> None:
    ran: list[str] = []

    def fail() -> None:
        ran.append("fail")
        raise OSError(28, "No space left on device")

    timetable = Timetable([Task(fail, 10), Task(lambda: ran.append("other"), 25)], now_ms=100)
    for now_ms in (100, 109, 110, 111, 125):
        timetable.run(now_ms)
    assert ran == ["fail", "fail", "other"]
    assert timetable.next_due_ms() == 135
