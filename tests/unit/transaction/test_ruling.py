"""What an END and a check come to."""

import pytest
from tests.unit.transaction.values import Known

from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.ports import State
from escrowmq.transaction.ruling import CheckRules, Ruling, Verdict, immunity_ms, judge, rule_on_end

RULES = CheckRules(timeout_ms=6_000, checks_max=15, retention_ms=72 * 3_600_000)


@pytest.mark.parametrize(
    ("decision", "state", "ruling"),
    [
        (Decision.COMMIT, "pending", Ruling.DECIDE),
        (Decision.ROLLBACK, "pending", Ruling.DECIDE),
        (Decision.COMMIT, "committed", Ruling.REPEAT),
        (Decision.ROLLBACK, "rolled_back", Ruling.REPEAT),
        (Decision.ROLLBACK, "discarded", Ruling.REPEAT),
        (Decision.ROLLBACK, "closed", Ruling.REPEAT),
        (Decision.ROLLBACK, "committed", Ruling.CONTRADICTION),
        (Decision.COMMIT, "rolled_back", Ruling.CONTRADICTION),
        (Decision.COMMIT, "discarded", Ruling.CONTRADICTION),
        (Decision.COMMIT, "closed", Ruling.CONTRADICTION),
    ],
)
def test_the_first_decision_counts(decision: Decision, state: State, ruling: Ruling) -> None:
    assert rule_on_end(decision, state) is ruling


@pytest.mark.parametrize(
    ("age_ms", "immunity", "verdict"),
    [
        (5_999, None, Verdict.WAIT),
        (6_000, None, Verdict.ASK),
        (59_999, "60", Verdict.WAIT),
        (60_000, "60", Verdict.ASK),
        (6_000, "soon", Verdict.ASK),
        # Whether it is old can't be told, so its producer is asked.
        (-1, None, Verdict.ASK),
    ],
)
def test_a_young_one_is_left_alone(age_ms: int, immunity: str | None, verdict: Verdict) -> None:
    assert judge(Known(), immunity, RULES, age_ms=age_ms) is verdict


def test_a_question_that_never_left_is_asked_again_and_not_counted() -> None:
    assert judge(Known(checks=3), None, RULES, age_ms=60_000) is Verdict.ASK_AGAIN
    assert judge(Known(checks=3, is_asked=True), None, RULES, age_ms=60_000) is Verdict.ASK


def test_it_is_given_up_when_the_last_question_has_left_and_not_before() -> None:
    assert judge(Known(checks=15), None, RULES, age_ms=60_000) is Verdict.ASK_AGAIN
    assert judge(Known(checks=15, is_asked=True), None, RULES, age_ms=60_000) is Verdict.DISCARD


def test_it_is_given_up_when_it_is_older_than_log_files_get() -> None:
    assert judge(Known(), None, RULES, age_ms=RULES.retention_ms) is Verdict.ASK
    assert judge(Known(), None, RULES, age_ms=RULES.retention_ms + 1) is Verdict.DISCARD


@pytest.mark.parametrize("text", ["", "-1", "1.5", "ten", "9" * 40, " "])
def test_an_immunity_that_is_no_number_of_seconds_counts_as_not_given(text: str) -> None:
    assert immunity_ms(text, RULES) == RULES.timeout_ms
