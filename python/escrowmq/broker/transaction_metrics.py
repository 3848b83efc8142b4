"""What a monitor reads of transactions: RocketMQ's metrics by the names that its broker exports, and ours."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from escrowmq.telemetry.metrics import CountedMetric, Distribution, Metric, Reading, counted, read_counted
from escrowmq.transaction.room import Room

_TOPIC_LABELS: Final = ("topic",)

HALF_MESSAGES: Final = Metric(
    "rocketmq_half_messages", "gauge", _TOPIC_LABELS, "Transactions that are undecided, by the topic they are for."
)
COMMITTED: Final = Metric(
    "rocketmq_commit_messages_total", "counter", _TOPIC_LABELS, "Transactions that were committed."
)
ROLLED_BACK: Final = Metric(
    "rocketmq_rollback_messages_total", "counter", _TOPIC_LABELS, "Transactions that were rolled back."
)
# Compat: the name says milliseconds, and the values are seconds.
FINISH_LATENCY: Final = Metric(
    "rocketmq_finish_message_latency_milliseconds",
    "histogram",
    _TOPIC_LABELS,
    "Seconds, whatever the name says, from a message's birth to its commit.",
)


class TransactionNumbers(Struct, frozen=True, kw_only=True):
    """What the room has counted, and what is pending."""

    pending: dict[str, int]
    committed: dict[str, int]
    rolled_back: dict[str, int]
    finish_s: dict[str, Distribution]
    prepared: int
    discarded: int
    contradictions: int
    checks_sent: int
    checks_answered: int
    oldest_age_ms: int


_OWN: Final[tuple[CountedMetric[TransactionNumbers], ...]] = (
    counted("transactions_prepared_total", "counter", "Half messages that producers sent.", lambda n: n.prepared),
    counted("transactions_discarded_total", "counter", "Transactions that were given up.", lambda n: n.discarded),
    counted(
        "transaction_contradictions_total",
        "counter",
        "Decisions that were refused, since another had been made.",
        lambda n: n.contradictions,
    ),
    counted(
        "transaction_oldest_pending_age_milliseconds",
        "gauge",
        "Time since the oldest undecided transaction was prepared; 0 for none.",
        lambda n: n.oldest_age_ms,
    ),
    counted(
        "transaction_checks_sent_total", "counter", "Questions that have left for producers.", lambda n: n.checks_sent
    ),
    counted(
        "transaction_checks_answered_total",
        "counter",
        "Answers to questions, also that nobody knows yet.",
        lambda n: n.checks_answered,
    ),
    counted(
        "transaction_checks_unanswered",
        "gauge",
        "Questions that have left, less answers.",
        lambda n: max(0, n.checks_sent - n.checks_answered),
    ),
)
METRICS: Final = (HALF_MESSAGES, COMMITTED, ROLLED_BACK, FINISH_LATENCY, *(one.metric for one in _OWN))


def numbers(room: Room, *, now_ms: int) -> TransactionNumbers:
    """Reads what the room has counted; to be called on the thread that the room is on."""
    counters, oldest_ms = room.counters, room.index.oldest_root_store_ms
    # A topic of which nothing is pending any more is shown as such.
    seen = dict.fromkeys((*counters.prepared, *counters.committed, *counters.rolled_back), 0)
    return TransactionNumbers(
        pending={**seen, **room.index.pending_by_topic()},
        committed=dict(counters.committed),
        rolled_back=dict(counters.rolled_back),
        finish_s={topic: histogram.read() for topic, histogram in counters.finish_s.items()},
        prepared=counters.prepared.total(),
        discarded=counters.discarded,
        contradictions=counters.contradictions,
        checks_sent=counters.checks_asked,
        checks_answered=counters.checks_answered,
        oldest_age_ms=0 if oldest_ms is None else max(0, now_ms - oldest_ms),
    )


def readings(found: TransactionNumbers) -> Iterator[Reading]:
    """All of them."""
    for metric, by_topic in (
        (HALF_MESSAGES, found.pending),
        (COMMITTED, found.committed),
        (ROLLED_BACK, found.rolled_back),
    ):
        for topic, count in by_topic.items():
            yield Reading(metric, count, (topic,))
    for topic, distribution in found.finish_s.items():
        yield Reading(FINISH_LATENCY, distribution, (topic,))
    yield from read_counted(_OWN, found)
