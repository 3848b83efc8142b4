"""Our producers with a real Apache broker: what they send, Java's client reads."""

import base64
import threading
import time
from pathlib import Path

import pytest
from tests.interop.apache import Apache
from tests.interop.installation import Installation
from tests.interop.java_process import Row

from escrowmq import Message
from escrowmq.client import Decision, Ended, HalfMessage, Producer, SendStatus, TransactionDesk, TransactionProducer
from escrowmq.client.connection import Client

pytestmark = pytest.mark.timeout(600)

TOPIC = "payments"
ROUNDS = {"transactionCheckInterval": "1000", "transactionTimeOut": "1000"}
PATIENCE_S = 60


class Listener:
    """Commits, rolls back or does not know, as the body says."""

    def __init__(self) -> None:
        self.is_asked = threading.Event()

    def execute(self, message: Message, argument: object) -> Decision | None:
        assert argument == "argument"
        return {b"commit": Decision.COMMIT, b"rollback": Decision.ROLLBACK}.get(message.body)

    def check(self, half: HalfMessage) -> Decision:
        assert half.body == b"ask"
        self.is_asked.set()
        return Decision.COMMIT


def bodies(rows: list[Row]) -> list[bytes]:
    return sorted(base64.b64decode(row["body"]) for row in rows)


def await_bodies(apache: Apache, expected: list[bytes]) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while (found := bodies(apache.dump(TOPIC))) != expected:
        assert time.monotonic() < until_s, found
        time.sleep(0.2)


@pytest.mark.short
def test_what_our_producer_sends_to_apache_javas_client_reads(installation: Installation, tmp_path: Path) -> None:
    with Apache(installation, tmp_path / "store", scratch=tmp_path) as apache:
        apache.admin("updateTopic", "-b", apache.broker_address, "-t", TOPIC, "-r", "4", "-w", "4")
        with Producer(apache.name_server_address, group="billing") as producer:
            result = producer.send(Message(TOPIC, b"one", tags="t", keys="k", properties={"order": "7"}))
            assert result.status is SendStatus.SEND_OK
            producer.send_many([Message(TOPIC, b"batch %d" % number) for number in range(3)])
            producer.send(Message(TOPIC, b"large" * 2_000))
            producer.send(Message(TOPIC, b"by key"), sharding_key="customer 7")
            producer.send_one_way(Message(TOPIC, b"one way"))
            producer.send(Message(TOPIC, b"later"), delay_level=1)
        expected = sorted(
            [b"one", b"batch 0", b"batch 1", b"batch 2", b"large" * 2_000, b"by key", b"one way", b"later"]
        )
        await_bodies(apache, expected)


@pytest.mark.short
def test_our_transactions_are_decided_by_apaches_broker(installation: Installation, tmp_path: Path) -> None:
    listener = Listener()
    with Apache(installation, tmp_path / "store", scratch=tmp_path, options=ROUNDS) as apache:
        apache.admin("updateTopic", "-b", apache.broker_address, "-t", TOPIC, "-r", "4", "-w", "4")
        name_server = apache.name_server_address
        with TransactionProducer(name_server, group="orders", topics=[TOPIC], listener=listener) as producer:
            ended = {
                body: producer.send_in_transaction(Message(TOPIC, body), "argument").ended
                for body in (b"commit", b"rollback", b"ask")
            }
            assert ended == {b"commit": Ended.SETTLED, b"rollback": Ended.SETTLED, b"ask": Ended.TOLD}
            with producer.transaction(Message(TOPIC, b"block")) as scope:
                pass
            assert scope.is_settled
            assert listener.is_asked.wait(PATIENCE_S)
            await_bodies(apache, [b"ask", b"block", b"commit"])


def test_a_restarted_desk_is_asked_by_apaches_broker(installation: Installation, tmp_path: Path) -> None:
    with Apache(installation, tmp_path / "store", scratch=tmp_path, options=ROUNDS) as apache:
        apache.admin("updateTopic", "-b", apache.broker_address, "-t", TOPIC, "-r", "4", "-w", "4")
        for run in range(2):
            client = Client(apache.name_server_address)
            try:
                with TransactionDesk(client, "orders", topics=[TOPIC], check=lambda _: Decision.COMMIT) as desk:
                    if run == 0:
                        desk.prepare([Message(TOPIC, b"left")])
                    else:
                        await_bodies(apache, [b"left"])
            finally:
                client.close()
