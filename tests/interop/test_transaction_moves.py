"""Transactions in mid-flight survive a change of broker, from ours to Apache's and from Apache's to ours.

The first broker has some that are decided at once, some that were decided when it asked, some that it asked about and
that are still pending, and some that are immune for so long that it asks about none of them. The second broker asks
about exactly those that are pending, a live producer answers, and each message is there once, or never, as was decided
first.
"""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
from tests.compat.broker_process import Client, ServerProcess
from tests.compat.name_server_process import NameServerProcess
from tests.crash.workload import pull
from tests.interop import apache
from tests.interop.apache import Apache
from tests.interop.installation import Installation
from tests.interop.java_process import StayingProgram, run_program, staying_program
from tests.interop.ours import BROKER_OPTIONS, STORE_OPTIONS
from tests.interop.pending import await_that

from escrowmq import Record
from escrowmq.transaction.topics import OP_TOPIC

pytestmark = pytest.mark.timeout(400)

GROUP, TOPIC, QUEUES = "payers", "payments", 4
CHECK_INTERVAL_MS, TIMEOUT_MS = 3_000, 500
ANSWER_DEADLINE_S = 120
# Longer than the first broker lives; the second one asks about them then.
IMMUNITY_S = 25

DECIDED_AT_ONCE = ("commit", "rollback")
DECIDED_WHEN_ASKED = ("unknown then commit", "unknown then rollback")
DECIDED_AFTER_THE_MOVE = ("unknown until it moves then commit", "unknown until it moves then rollback")
OF_EACH = 6

Ending = Literal["stopped", "killed"]


def key(outcome: str, number: int) -> str:
    return f"{outcome.replace(' ', '-')}-{number}"


def keys(*outcomes: str) -> set[str]:
    return {key(outcome, number) for outcome in outcomes for number in range(OF_EACH)}


def plans(*outcomes: str) -> list[str]:
    return [f"{key(outcome, number)}|{outcome} {number}" for number in range(OF_EACH) for outcome in outcomes]


IMMUNE = [f"immune-{plan}|{IMMUNITY_S}" for plan in plans(*DECIDED_AFTER_THE_MOVE)]
PENDING = keys(*DECIDED_AFTER_THE_MOVE) | {plan.partition("|")[0] for plan in IMMUNE}
COMMITTED = {name for name in keys(*DECIDED_AT_ONCE, *DECIDED_WHEN_ASKED) | PENDING if "commit" in name}


@pytest.fixture
def name_server(tmp_path: Path) -> Iterator[str]:
    """It outlives either broker."""
    with NameServerProcess(tmp_path / "namesrv") as process:
        yield process.address


@contextmanager
def our_broker(store: Path, name_server: str) -> Iterator[ServerProcess]:
    options = (
        "--port=0",
        f"--namesrv={name_server}",
        f"--set=broker.transaction_check_interval_ms={CHECK_INTERVAL_MS}",
        f"--set=broker.transaction_timeout_ms={TIMEOUT_MS}",
        "--set=broker.transaction_checks_max=1000",
    )
    with ServerProcess("broker", store, *BROKER_OPTIONS, *options) as broker:
        yield broker


def apaches_broker(installation: Installation, store: Path, name_server: str, scratch: Path) -> Apache:
    options = {
        "transactionCheckInterval": str(CHECK_INTERVAL_MS),
        "transactionTimeOut": str(TIMEOUT_MS),
        "transactionCheckMax": "1000",
    }
    return Apache(installation, store, scratch=scratch, options=options, name_server_address=name_server)


@pytest.mark.parametrize("ending", ["stopped", "killed"])
def test_apache_finishes_what_we_have_pending(
    ending: Ending, installation: Installation, name_server: str, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    apache.declare_topics(store, {TOPIC: QUEUES})
    with (
        our_broker(store, name_server) as broker,
        Client(broker.broker) as client,
        producer_in_mid_flight(installation, name_server, client, tmp_path),
    ):
        end_ours(broker, store, ending)
    with apaches_broker(installation, store, name_server, tmp_path) as taking_over:
        with Client(taking_over.broker_address) as client:
            finish(installation, name_server, client, tmp_path)
        taking_over.stop()


@pytest.mark.parametrize("ending", ["stopped", "killed"])
def test_we_finish_what_apache_has_pending(
    ending: Ending, installation: Installation, name_server: str, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    apache.declare_topics(store, {TOPIC: QUEUES})
    with (
        apaches_broker(installation, store, name_server, tmp_path) as broker,
        Client(broker.broker_address) as client,
        producer_in_mid_flight(installation, name_server, client, tmp_path),
    ):
        {"stopped": broker.stop, "killed": broker.kill}[ending]()
    with our_broker(store, name_server) as taking_over:
        with Client(taking_over.broker) as client:
            finish(installation, name_server, client, tmp_path)
        assert taking_over.stop() == 0


def end_ours(broker: ServerProcess, store: Path, ending: Ending) -> None:
    """A store that a killed broker of ours left is made whole before Apache gets it."""
    if ending == "stopped":
        assert broker.stop() == 0
    else:
        broker.process.kill()
        broker.process.wait()
        command = [sys.executable, "-m", "escrowmq", "store", "recover", str(store), *STORE_OPTIONS]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@contextmanager
def producer_in_mid_flight(
    installation: Installation, name_server: str, client: Client, folder: Path
) -> Iterator[StayingProgram]:
    """A Java producer that is still there, when all is decided that it decides, and it was asked about the rest."""
    planned = [*plans(*DECIDED_AT_ONCE, *DECIDED_WHEN_ASKED, *DECIDED_AFTER_THE_MOVE), *IMMUNE]
    with staying_program(
        installation,
        "Transact",
        [name_server, GROUP, TOPIC, *planned],
        home=folder / "first-producer",
        says_when_ready="prepared",
    ) as producer:
        prepared = {row["key"]: row["halfOffset"] for row in producer.rows() if row["kind"] == "prepared"}
        await_that(lambda: keys(*DECIDED_AFTER_THE_MOVE) <= asked_at(producer).keys(), "it was asked about all")
        await_that(lambda: keys(*DECIDED_WHEN_ASKED) <= asked_at(producer).keys(), "it has answered")
        places = {prepared[name] for name in keys(*DECIDED_AT_ONCE)}
        places |= {asked_at(producer)[name] for name in keys(*DECIDED_WHEN_ASKED)}
        await_that(lambda: places <= decided_places(client), "all is decided that is to be decided")
        yield producer


def asked_at(producer: StayingProgram) -> Mapping[str, int]:
    """The place of the newest copy that each transaction was asked about by."""
    return {row["key"]: row["halfOffset"] for row in producer.rows() if row["kind"] == "question"}


def finish(installation: Installation, name_server: str, client: Client, folder: Path) -> None:
    """A producer answers what it is asked; then nothing is asked any more, and every message is there as decided."""
    answers = run_program(
        installation,
        "Answer",
        [name_server, GROUP, TOPIC, str(len(PENDING))],
        home=folder / "second-producer",
        deadline_s=ANSWER_DEADLINE_S,
    )
    assert {row["properties"]["KEYS"] for row in answers} == PENDING
    # When a transaction that came after all of them was asked about, whatever was left would have been, too.
    last = "last|unknown then commit"
    with staying_program(
        installation,
        "Transact",
        [name_server, GROUP, TOPIC, last],
        home=folder / "last-producer",
        says_when_ready="prepared",
    ) as producer:
        await_that(lambda: "last" in visible(client), "the last one is committed")
        assert asked_at(producer).keys() == {"last"}
    assert visible(client) == Counter(COMMITTED | {"last"})


def visible(client: Client) -> Counter[str]:
    """How often each message is in the topic."""
    return Counter(
        str(record.find_property("KEYS"))
        for queue_id in range(QUEUES)
        for record in everything(client, TOPIC, queue_id)
    )


def decided_places(client: Client) -> set[int]:
    """The places of half messages that op records name."""
    return {int(place) for op in everything(client, OP_TOPIC, 0) for place in bytes(op.body).split(b",") if place}


def everything(client: Client, topic: str, queue_id: int) -> list[Record]:
    """All messages of a queue."""
    found: list[Record] = []
    while more := pull(client, topic, found[-1].queue_offset + 1 if found else 0, queue_id):
        found += more
    return found
