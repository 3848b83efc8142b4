"""How old half messages are while somebody sets the clock."""

from tests.unit.transaction.values import Known

from escrowmq.transaction.ages import MARKS_COUNT_MAX, Ages

HOUR_MS = 3_600_000
STARTED_MS = 1_000 * HOUR_MS
BEFORE = Known(root_log_offset=99, root_store_ms=STARTED_MS - 5_000)


def age(ages: Ages, transaction: Known, *, passed_ms: int, set_by_ms: int = 0) -> int:
    """Its age when so much time has passed since the start, and the clock was set by so much."""
    return ages.of(transaction, now_ms=passed_ms, wall_ms=STARTED_MS + passed_ms + set_by_ms)


def started() -> Ages:
    return Ages(100, now_ms=0, wall_ms=STARTED_MS)


def test_it_is_the_time_since_it_was_stored() -> None:
    ages = started()
    since = Known(root_log_offset=200, root_store_ms=STARTED_MS + 2_000)
    assert age(ages, BEFORE, passed_ms=10_000) == 15_000
    assert age(ages, since, passed_ms=10_000) == 8_000
    ages.mark(300, now_ms=10_000)
    assert age(ages, since, passed_ms=11_000) == 9_000


def test_a_clock_that_is_set_changes_the_age_of_nothing_that_was_there_before_the_start() -> None:
    ages = started()
    for set_by_ms in (-HOUR_MS, HOUR_MS):
        assert age(ages, BEFORE, passed_ms=10_000, set_by_ms=set_by_ms) == 15_000


def test_what_is_prepared_after_the_clock_was_set_back_is_young_and_grows_older() -> None:
    ages = started()
    ages.mark(200, now_ms=30_000)
    # Store time stands still, at what it was when the clock was set.
    since = Known(root_log_offset=250, root_store_ms=STARTED_MS + 30_000)
    assert age(ages, since, passed_ms=40_000, set_by_ms=-HOUR_MS) == 0
    ages.mark(300, now_ms=60_000)
    assert age(ages, since, passed_ms=65_000, set_by_ms=-HOUR_MS) == 5_000


def test_a_step_of_the_clock_makes_nothing_older_than_the_time_that_has_passed() -> None:
    ages = started()
    ages.mark(200, now_ms=30_000)
    since = Known(root_log_offset=250, root_store_ms=STARTED_MS + 31_000)
    assert age(ages, since, passed_ms=40_000, set_by_ms=100 * HOUR_MS) == 10_000


def test_while_nothing_is_prepared_marks_take_no_room_and_the_last_counts() -> None:
    ages = started()
    for number in range(1, 3 * MARKS_COUNT_MAX):
        ages.mark(200, now_ms=1_000 * number)
    last_ms = 1_000 * (3 * MARKS_COUNT_MAX - 1)
    since = Known(root_log_offset=200, root_store_ms=STARTED_MS + last_ms)
    before = Known(root_log_offset=199, root_store_ms=STARTED_MS + last_ms)
    assert age(ages, since, passed_ms=last_ms + 500, set_by_ms=HOUR_MS) == 500
    assert age(ages, before, passed_ms=last_ms + 500) == last_ms + 500 - 1_000


def test_of_what_is_ahead_of_the_start_nobody_can_tell() -> None:
    ahead = Known(root_log_offset=99, root_store_ms=STARTED_MS + HOUR_MS)
    assert age(started(), ahead, passed_ms=10_000) < 0


def test_ages_hold_however_many_rounds_there_were() -> None:
    ages = started()
    rounds = 3 * MARKS_COUNT_MAX
    for number in range(1, rounds):
        ages.mark(100 + 10 * number, now_ms=30_000 * number)
    for number in (1, 77, rounds - 2):
        stored_ms = 30_000 * number + 10
        since = Known(root_log_offset=100 + 10 * number, root_store_ms=STARTED_MS + stored_ms)
        assert age(ages, since, passed_ms=30_000 * rounds) == 30_000 * rounds - stored_ms
