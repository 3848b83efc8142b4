"""The transactions that were recorded with Apache's broker, run again by its Java client against ours.

Compared are every message of the topic and of the discard topic, but for ids, times and places, and of which
transaction a final message is; the highest check counter of each transaction; and which of them op records name as
decided, by the check counter of the copy that they name, since the places of copies are up to the order of a round.
How the recording was made is in `tests/golden/data/store-clean.tar.gz.toml`.
"""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.compat.broker_process import ServerProcess
from tests.golden import recordings
from tests.interop.installation import Installation
from tests.interop.java_process import staying_program
from tests.interop.pending import await_none_pending

from escrowmq import Record, Store
from escrowmq.admin import requests
from escrowmq.admin.client import Admin
from escrowmq.model.topic import TopicConfig
from escrowmq.transaction.topics import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC

TOPIC = "payments"
SETTINGS = (
    "--port=0",
    "--namesrv-port=0",
    "--set=broker.transaction_check_interval_ms=4000",
    "--set=broker.transaction_timeout_ms=3000",
    "--set=broker.transaction_checks_max=5",
    *(f"--set=store.{name}={value}" for name, value in recordings.OPTIONS.items()),
)
OUTCOMES = ("commit", "rollback", "unknown then commit", "unknown then rollback", "unknown for ever")
IMMUNE = "immune-1"
PLANS = (
    *(f"{outcome.replace(' ', '-')}-{number}|{outcome} {number}" for outcome in OUTCOMES for number in range(3)),
    f"{IMMUNE}|unknown then commit, immune for a while|8",
)

# Ids, places, and what our broker notes for itself.
OWN_PROPERTIES = frozenset({"UNIQ_KEY", "__transactionId__", "REAL_QID", "ESCROWMQ_ROOT"})
# Apache puts an immune half message back before it asks, and counts that as a question. We count questions, so its
# one question is the first for us and the second for Apache. The other two are what Apache notes when it does so.
IMMUNE_PROPERTIES = frozenset({"TRANSACTION_CHECK_TIMES", "TRAN_PREPARED_QUEUE_OFFSET", "WAIT"})


@dataclass
class Told:
    """What a store says of its transactions, by key."""

    messages: list[tuple[object, ...]] = field(default_factory=list)
    # The check counter of the newest copy.
    checks: dict[str, int] = field(default_factory=dict)
    # The same, of those whose newest copy an op record names and that were not given up. Older copies do not count: our
    # op records name them, too.
    decided: dict[str, int] = field(default_factory=dict)


@pytest.mark.short
@pytest.mark.timeout(180)
def test_the_recorded_transactions_end_as_they_did_for_apache(installation: Installation, tmp_path: Path) -> None:
    with ServerProcess("up", tmp_path / "data", *SETTINGS) as servers:
        with Admin([servers.name_server]) as admin:
            admin.ask(servers.broker, requests.create_topic(TopicConfig(TOPIC, 4, 4)))
        arguments = [servers.name_server, "order-service", TOPIC, *PLANS]
        with staying_program(
            installation, "Transact", arguments, home=tmp_path / "producer", says_when_ready="prepared"
        ) as producer:
            await_none_pending(servers)
            questions = [row for row in producer.rows() if row["kind"] == "question"]
        assert servers.stop() == 0

    ours = read(tmp_path / "data" / "broker")
    apaches = read(recordings.unpack_store("clean", tmp_path))
    assert len(apaches.messages) == 7 + 3
    assert ours.messages == apaches.messages
    assert (ours.checks.pop(IMMUNE), apaches.checks.pop(IMMUNE)) == (1, 2)
    assert ours.checks == apaches.checks
    assert (ours.decided.pop(IMMUNE), apaches.decided.pop(IMMUNE)) == (1, 2)
    assert ours.decided == apaches.decided
    # Three times five, six times once, and the immune one.
    assert len(questions) == 3 * 5 + 6 + 1


def read(folder: Path) -> Told:
    told = Told()
    with Store.open(folder, **recordings.OPTIONS, **recordings.NEVER_EXPIRE) as store:
        halves = [*store.iterate(HALF_TOPIC, 0)]
        queued = [record for queue in range(4) for record in store.iterate(TOPIC, queue)]
        discarded = [*store.iterate(DISCARD_TOPIC, 0)]
        key_at = {half.log_offset: key_of(half) for half in halves}
        told.messages = sorted(
            [
                *((*contents(record), key_at[record.prepared_transaction_offset]) for record in queued),
                *((*contents(record), record.prepared_transaction_offset) for record in discarded),
            ]
        )
        told.checks = {key_of(half): int(half.find_property("TRANSACTION_CHECK_TIMES") or 0) for half in halves}
        marked = {int(number) for op in store.iterate(OP_TOPIC, 0) for number in bytes(op.body).split(b",") if number}
    newest = {key_of(half): half.queue_offset for half in halves}
    for key in newest.keys() - {key_of(record) for record in discarded}:
        if newest[key] in marked:
            told.decided[key] = told.checks[key]
    return told


def contents(record: Record) -> tuple[object, ...]:
    """A message but for its id, times and place; which queue it is for was up to its producer."""
    left_out = OWN_PROPERTIES | (IMMUNE_PROPERTIES if key_of(record) == IMMUNE else frozenset())
    return (
        record.topic,
        key_of(record),
        bytes(record.body),
        record.flag,
        record.sys_flag,
        record.body_crc,
        record.reconsume_times,
        sorted((name, value) for name, value in record.properties.items() if name not in left_out),
    )


def key_of(record: Record) -> str:
    return str(record.find_property("KEYS"))
