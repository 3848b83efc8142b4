"""SIGKILL on our broker while a Java producer prepares and decides transactions, again and again, at random moments.

Each life of the broker begins on what the one before left, at the same port; the producer and the name server live on.
In the end nothing is pending, and the topic is compared with what the producer wrote down: what it knew to be prepared
is there once or never, as it decided; what it does not know of is there once at most, and only if its answer to a
question is commit. ESCROWMQ_KILLS=50 kills fifty times in each mode of flushing.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.compat.broker_process import ServerProcess
from tests.compat.name_server_process import NameServerProcess
from tests.interop.apache import BROKER_NAME, free_port_group
from tests.interop.installation import Installation
from tests.interop.java_process import Row, staying_program
from tests.interop.pending import await_none_pending
from tests.opening import ANY_DISK

from escrowmq import Store, TransactionIndex
from escrowmq.admin import requests
from escrowmq.admin.client import Admin
from escrowmq.model.topic import TopicConfig
from escrowmq.transaction.topics import AUDIT_TOPIC, DISCARD_TOPIC

KILLS = int(os.environ.get("ESCROWMQ_KILLS", "5"))
LIFE_S = (0.0, 3.0)
GROUP, TOPIC = "payers", "payments"
QUEUES = 4
THREADS = 8
SETTINGS = (
    f"--name={BROKER_NAME}",
    # A producer sends a prepare again for two seconds. One that is asked about before that would be two transactions.
    "--set=broker.transaction_timeout_ms=3000",
    "--set=broker.transaction_check_interval_ms=500",
    "--set=broker.transaction_checks_max=1000",
)


@pytest.mark.timeout(120 + 20 * KILLS)
@pytest.mark.parametrize("flush", [pytest.param("sync", marks=pytest.mark.short), "async"])
def test_kills_neither_lose_nor_double_nor_invent_a_message(
    flush: str, installation: Installation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(KILLS)
    data, flag = tmp_path / "store", tmp_path / "sends-while-this-is-there"
    flag.touch()
    with NameServerProcess(tmp_path / "namesrv") as name_server:
        options = (
            *SETTINGS,
            f"--port={free_port_group(1)}",
            f"--namesrv={name_server.address}",
            f"--set=store.flush={flush}",
        )
        make_topic(data, options)
        arguments = [name_server.address, GROUP, TOPIC, str(THREADS), str(flag)]
        home = tmp_path / "producer"
        with staying_program(installation, "KeepDeciding", arguments, home=home, says_when_ready="started") as producer:
            begin_s = time.monotonic()
            for _ in range(KILLS):
                with ServerProcess("broker", data, *options) as broker:
                    time.sleep(chance.uniform(*LIFE_S))
                    broker.process.kill()
            kills_s = time.monotonic() - begin_s
            with ServerProcess("broker", data, *options) as broker:
                flag.unlink()
                producer.process.await_output("stopped")
                await_none_pending(broker)
                assert broker.stop() == 0
            told = producer.rows()
    outcome = compare(told, data)
    with capsys.disabled():
        print(f"\n{KILLS} kills in {kills_s:.0f} s, {flush}: {outcome}")


def make_topic(data: Path, options: Sequence[str]) -> None:
    with ServerProcess("broker", data, *options) as broker:
        with Admin([broker.broker]) as admin:
            admin.ask(broker.broker, requests.create_topic(TopicConfig(TOPIC, QUEUES, QUEUES)))
        assert broker.stop() == 0


def compare(told: Sequence[Row], data: Path) -> str:
    """Compares what is visible with what the producer wrote down; how much that was, in words."""
    decided = {row["key"] for row in told if row["kind"] == "decided"}
    unknown = {row["key"] for row in told if row["kind"] == "failed"} - decided
    questions = [row for row in told if row["kind"] == "question"]
    with Store.open(data, **ANY_DISK) as store:
        assert TransactionIndex.open(store).pending_count == 0
        # Nothing was given up, and no decision contradicted another.
        assert [*store.iterate(DISCARD_TOPIC, 0), *store.iterate(AUDIT_TOPIC, 0)] == []
        records = [record for queue in range(QUEUES) for record in store.iterate(TOPIC, queue)]
    visible = Counter(str(record.find_property("KEYS")) for record in records)
    doubled = {key for key, times in visible.items() if times > 1}
    lost = {key for key in decided if is_committed(key) and key not in visible}
    begun = decided | unknown
    invented = {key for key in visible if not is_committed(key) or key not in begun}
    assert (lost, doubled, invented) == (set(), set(), set())
    assert decided
    assert questions
    came_through = len(unknown & visible.keys())
    return (
        f"{len(decided)} prepared and decided, {len(records)} visible, {len(questions)} questions; "
        f"{len(unknown)} prepares without an answer, {came_through} of them committed when asked about"
    )


def is_committed(key: str) -> bool:
    """What becomes of it in the end: in turn commit and rollback, at once or when asked."""
    return int(key.rpartition("-")[2]) % 2 == 0
