"""A prepare that one broker does not answer goes to another: real brokers, one of which stands still for a while."""

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy.orm import Session
from tests.compat.broker_process import ServerProcess
from tests.compat.name_server_process import NameServerProcess
from tests.sql.service import GROUP, TOPIC

from escrowmq._core import decode_records
from escrowmq.admin import requests, transactions
from escrowmq.admin.client import Admin
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.sql.escrow import Escrow
from escrowmq.sql.values import Result

pytestmark = [pytest.mark.timeout(120), pytest.mark.parametrize("url", ["sqlite"], indirect=True)]

NAMES = ("broker-a", "broker-b")
QUEUES = 2
PATIENCE_S = 30.0


@pytest.fixture
def name_server(tmp_path: Path) -> Iterator[NameServerProcess]:
    with NameServerProcess(tmp_path / "namesrv") as started:
        yield started


@pytest.fixture
def brokers(tmp_path: Path, name_server: NameServerProcess) -> Iterator[list[ServerProcess]]:
    options = (
        "--port=0",
        f"--namesrv={name_server.address}",
        "--set=broker.transaction_timeout_ms=1",
        "--set=broker.transaction_check_interval_ms=200",
    )
    with ExitStack() as stack:
        started = [
            stack.enter_context(ServerProcess("broker", tmp_path / name, f"--name={name}", *options)) for name in NAMES
        ]
        with Admin([name_server.address]) as admin:
            for broker in started:
                admin.ask(broker.broker, requests.create_topic(TopicConfig(TOPIC, QUEUES, QUEUES)))
        yield started


def test_what_reached_a_broker_that_did_not_answer_is_rolled_back_there(
    engine: sqlalchemy.Engine, name_server: NameServerProcess, brokers: list[ServerProcess]
) -> None:
    still, other = brokers
    with Escrow(name_server.address, group=GROUP, databases=engine, timeout_s=0.5) as escrow:
        # One after the other, until each broker has had one: then both are connected to.
        results = [place(escrow, engine, number) for number in range(2 * QUEUES)]
        still.process.send_signal(signal.SIGSTOP)
        results += [place(escrow, engine, number) for number in range(10, 10 + 2 * QUEUES)]
        assert results == [Result.COMMITTED] * len(results)
        half_way = held_by(name_server, other)
        still.process.send_signal(signal.SIGCONT)
        until_s = time.monotonic() + PATIENCE_S
        while pending(name_server, brokers) or not has_rolled_back(name_server, still):
            assert time.monotonic() < until_s, "what nobody was told of is still pending"
            time.sleep(0.05)
        assert held_by(name_server, other) == half_way
    with engine.connect() as connection:
        placed = Counter(str(row[0]) for row in connection.exec_driver_sql("SELECT id FROM orders"))
    assert held_by(name_server, still) + held_by(name_server, other) == placed


def place(escrow: Escrow, engine: sqlalchemy.Engine, number: int) -> Result:
    with Session(engine) as session, session.begin():
        session.execute(sqlalchemy.text("INSERT INTO orders (id, amount) VALUES (:id, 10)"), {"id": number})
        deposit = escrow.send(session, TOPIC, str(number), key=str(number))
    return deposit.result


def held_by(name_server: NameServerProcess, broker: ServerProcess) -> Counter[str]:
    """The messages that a broker delivers."""
    with Admin([name_server.address]) as admin:
        pulls = [requests.pull(TOPIC, queue_id, 0, group="reader") for queue_id in range(QUEUES)]
        answers = [admin.connections.ask(broker.broker, pull) for pull in pulls]
    found = [answer.body for answer in answers if answer.code == ResponseCode.SUCCESS]
    return Counter(bytes(record.body).decode() for body in found for record in decode_records(body))


def pending(name_server: NameServerProcess, brokers: list[ServerProcess]) -> int:
    with Admin([name_server.address]) as admin:
        addresses = {name: broker.broker for name, broker in zip(NAMES, brokers, strict=True)}
        return sum(each.pending for each in transactions.count_transactions(admin, addresses))


def has_rolled_back(name_server: NameServerProcess, broker: ServerProcess) -> bool:
    with Admin([name_server.address]) as admin:
        found = transactions.list_transactions(admin, {"": broker.broker}, state="decided", count_max=100)
    return any(one.state == "rolled_back" for one in found)
