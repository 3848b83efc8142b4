"""What a monitor reads of transactions, held against what was done to them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.transaction.room_desk import GROUP, TOPIC, RoomDesk, an_end, places

from escrowmq.broker import transaction_metrics
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.telemetry.exposition import render
from escrowmq.telemetry.metrics import Distribution
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.ruling import End

HOUR_MS = 3_600_000


@pytest.fixture
def room(tmp_path: Path) -> Iterator[RoomDesk]:
    opened = RoomDesk(tmp_path)
    yield opened
    opened.close()


def read(room: RoomDesk) -> dict[tuple[str, tuple[str, ...]], float | Distribution]:
    numbers = transaction_metrics.numbers(room.room, now_ms=room.clock.wall_ms())
    return {(one.metric.name, one.labels): one.value for one in transaction_metrics.readings(numbers)}


def test_half_messages_are_those_that_are_pending_and_decisions_are_counted_by_topic(room: RoomDesk) -> None:
    first, second, third, _ = (room.prepare(name) for name in "ABCD")
    assert read(room)["rocketmq_half_messages", (TOPIC,)] == 4
    room.end(first, Decision.COMMIT)
    room.end(second, Decision.ROLLBACK)
    room.end(third, Decision.ROLLBACK)
    # The same again is no decision.
    room.end(third, Decision.ROLLBACK)
    found = read(room)
    assert found["rocketmq_half_messages", (TOPIC,)] == 1
    assert found["rocketmq_commit_messages_total", (TOPIC,)] == 1
    assert found["rocketmq_rollback_messages_total", (TOPIC,)] == 2


def test_half_messages_outlive_a_restart_and_a_topic_without_them_says_so(room: RoomDesk) -> None:
    place = room.prepare("A")
    room.reopen()
    assert read(room)["rocketmq_half_messages", (TOPIC,)] == 1
    room.end(place, Decision.COMMIT)
    assert read(room)["rocketmq_half_messages", (TOPIC,)] == 0


def test_how_long_commits_took_is_told_in_seconds_and_by_apache_s_buckets(room: RoomDesk) -> None:
    born_ms = room.clock.wall_ms()
    for age_ms in (0, 5_999, 61_000, 2 * HOUR_MS):
        room.counters.delivered(TOPIC, age_ms=age_ms)
    (latency,) = (value for (name, _), value in read(room).items() if name.startswith("rocketmq_finish"))
    assert latency == Distribution((5.0, 60.0, 600.0, 3_600.0, 43_200.0, 86_400.0), (2, 0, 1, 0, 1, 0, 0), 7_266)
    # And a commit is counted so: the test's half messages were born in 1970.
    room.end(room.prepare("A"), Decision.COMMIT)
    (latency,) = (value for (name, _), value in read(room).items() if name.startswith("rocketmq_finish"))
    assert isinstance(latency, Distribution)
    assert (latency.counts[-1], latency.total >= born_ms // 1_000) == (1, True)


def test_a_message_from_the_future_took_no_time(room: RoomDesk) -> None:
    room.counters.delivered(TOPIC, age_ms=-5_000)
    (latency,) = (value for (name, _), value in read(room).items() if name.startswith("rocketmq_finish"))
    assert isinstance(latency, Distribution)
    assert (latency.counts[0], latency.total) == (1, 0)


def test_questions_are_counted_when_they_have_left_and_when_they_are_answered(room: RoomDesk) -> None:
    room.prepare("A")
    room.prepare("B")
    room.connect()
    first, _ = places(room.round(leaves=False))
    assert read(room)["escrowmq_transaction_checks_sent_total", ()] == 0
    room.let_leave()
    room.ending.end([End(GROUP, first.half_offset, first.log_offset, None, "check", is_from_check=True)])
    found = read(room)
    assert found["escrowmq_transaction_checks_sent_total", ()] == 2
    assert found["escrowmq_transaction_checks_answered_total", ()] == 1
    assert found["escrowmq_transaction_checks_unanswered", ()] == 1


def test_discards_and_contradictions_are_counted(room: RoomDesk) -> None:
    place = room.prepare("A")
    room.connect()
    for _ in range(room.rules.checks_max + 1):
        room.round()
    (settled,) = room.ending.end([an_end(place, Decision.COMMIT)])
    assert settled.code == ResponseCode.ILLEGAL_OPERATION
    found = read(room)
    assert found["escrowmq_transactions_discarded_total", ()] == 1
    assert found["escrowmq_transaction_contradictions_total", ()] == 1


def test_the_age_of_the_oldest_counts_from_its_prepare(room: RoomDesk) -> None:
    name = "escrowmq_transaction_oldest_pending_age_milliseconds"
    assert read(room)[name, ()] == 0
    place = room.prepare("A")
    room.clock.advance(HOUR_MS)
    room.prepare("B")
    age_ms = read(room)[name, ()]
    assert isinstance(age_ms, int)
    assert HOUR_MS <= age_ms < 2 * HOUR_MS
    room.end(place, Decision.ROLLBACK)
    assert read(room)[name, ()] < age_ms  # type: ignore[operator]


def test_the_histogram_is_written_as_prometheus_reads_it(room: RoomDesk) -> None:
    room.counters.delivered(TOPIC, age_ms=61_000)
    numbers = transaction_metrics.numbers(room.room, now_ms=0)
    text = render(transaction_metrics.readings(numbers), everywhere={"cluster": "c"}).decode()
    name = "rocketmq_finish_message_latency_milliseconds"
    assert f"# TYPE {name} histogram\n" in text
    assert f'{name}_bucket{{cluster="c",le="60.0",topic="orders"}} 0.0\n' in text
    assert f'{name}_bucket{{cluster="c",le="600.0",topic="orders"}} 1.0\n' in text
    assert f'{name}_bucket{{cluster="c",le="+Inf",topic="orders"}} 1.0\n' in text
    assert f'{name}_sum{{cluster="c",topic="orders"}} 61.0\n' in text
    assert f'{name}_count{{cluster="c",topic="orders"}} 1.0\n' in text
