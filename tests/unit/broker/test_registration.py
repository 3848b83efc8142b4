"""Registration: name servers come and go, and know of every topic as soon as they can."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from structlog.testing import capture_logs
from tests.unit.broker.desk import Desk

from escrowmq.broker.registration import INTERVAL_MS, LOOK_UP_PAUSE_MS, PAUSE_MS, Identity, Registration
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol.bodies.kv_table import encode_kv_table
from escrowmq.protocol.bodies.register_broker import body_crc, decode_register_broker
from escrowmq.protocol.request_codes import RequestCode


@dataclass
class Network:
    """Connections that were begun and requests that were sent."""

    connected: list[str] = field(default_factory=list)
    sent: list[tuple[int, int, dict[str, str], bytes]] = field(default_factory=list)

    def connect(self, address: str) -> int:
        self.connected.append(address)
        return len(self.connected)

    def send(
        self,
        connection: int,
        code: int,
        *,
        ext_fields: Mapping[str, str] | None = None,
        body: bytes | None = None,
        one_way: bool = True,
    ) -> int:
        assert not one_way
        self.sent.append((connection, code, dict(ext_fields or {}), body or b""))
        return len(self.sent)

    def topics(self, index: int = -1) -> set[str]:
        """The topics of a registration that was sent."""
        return set(decode_register_broker(self.sent[index][3], is_compressed=False, version=513).table.topics)


def begin(*name_servers: str) -> tuple[Registration, Network, Desk]:
    network, desk = Network(), Desk()
    identity = Identity(
        name="broker-a", cluster="C1", broker_id=0, address="127.0.0.1:10911", ha_address="127.0.0.1:10912"
    )
    registration = Registration(identity, name_servers, desk.context.topics, network, resolve=resolve)
    registration.tick(now_ms=0)
    return registration, network, desk


def resolve(address: str) -> str | None:
    if address.startswith("slow"):
        return None
    if address.startswith("nowhere"):
        raise OSError(-2, "Name or service not known")
    return address.replace("localhost", "127.0.0.1")


def test_every_name_server_is_told_everything_when_it_is_reached() -> None:
    registration, network, desk = begin("localhost:9876", "127.0.0.1:9877", "localhost:9876")
    assert network.connected == ["127.0.0.1:9876", "127.0.0.1:9877"]
    assert (network.sent, registration.next_tick_ms()) == ([], math.inf)
    registration.opened(2, now_ms=5)
    connection, code, fields, body = network.sent[0]
    assert (connection, code) == (2, RequestCode.REGISTER_BROKER)
    assert fields == {
        "brokerName": "broker-a",
        "brokerAddr": "127.0.0.1:10911",
        "clusterName": "C1",
        "brokerId": "0",
        "haServerAddr": "127.0.0.1:10912",
        "enableActingMaster": "false",
        "compressed": "false",
        "bodyCrc32": str(body_crc(body)),
    }
    sent: Any = json.loads(body)
    assert sent["filterServerList"] == []
    assert network.topics() == set(desk.context.topics.table)
    registration.answered(2, 1, 0, None, b"", now_ms=0)
    assert registration.registered_at == ["127.0.0.1:9877"]


def test_it_registers_again_at_intervals() -> None:
    registration, network, _ = begin("127.0.0.1:9876")
    registration.opened(1, now_ms=5)
    registration.tick(now_ms=5 + INTERVAL_MS - 1)
    assert len(network.sent) == 1
    assert registration.next_tick_ms() == 5 + INTERVAL_MS
    registration.tick(now_ms=5 + INTERVAL_MS)
    assert len(network.sent) == 2
    assert registration.waiting() == {(1, 2)}


def test_a_name_server_that_goes_is_looked_for_until_it_is_back() -> None:
    registration, network, _ = begin("127.0.0.1:9876")
    registration.opened(1, now_ms=0)
    registration.answered(1, 1, 0, None, b"", now_ms=0)
    registration.closed(1, "peer", now_ms=10)
    assert registration.registered_at == []
    registration.tick(now_ms=10 + PAUSE_MS - 1)
    assert len(network.connected) == 1
    registration.tick(now_ms=10 + PAUSE_MS)
    registration.closed(2, "connect_failed", now_ms=2_000)
    registration.tick(now_ms=3_000)
    registration.opened(3, now_ms=3_001)
    registration.answered(3, 2, 0, None, b"", now_ms=0)
    assert registration.registered_at == ["127.0.0.1:9876"]


def test_a_name_server_that_is_not_there_is_mentioned_at_once_then_at_intervals_and_when_it_is_back() -> None:
    """One that accepts and closes again is not back: only who answers is."""
    with capture_logs() as logs:
        registration, network, _ = begin("127.0.0.1:9876")
        for second in range(121):
            connection = len(network.connected)
            if second % 2:
                registration.opened(connection, now_ms=1_000 * second)
            registration.closed(connection, "connect_failed", now_ms=1_000 * second)
            registration.tick(now_ms=1_000 * second + PAUSE_MS)
        registration.opened(len(network.connected), now_ms=122_000)
        registration.answered(len(network.connected), len(network.sent), 0, None, b"", now_ms=122_500)
        registration.closed(len(network.connected), "peer", now_ms=130_000)
    assert [(log["event"], log["missing_s"]) for log in logs] == [
        ("name server not reached", 0),
        ("name server not reached", 60),
        ("name server not reached", 120),
        ("name server is back", 122),
        ("name server not reached", 0),
    ]
    assert {log["name_server"] for log in logs} == {"127.0.0.1:9876"}


def test_a_name_server_that_does_not_answer_is_mentioned() -> None:
    registration, _, _ = begin("127.0.0.1:9876")
    registration.opened(1, now_ms=0)
    with capture_logs() as logs:
        registration.tick(now_ms=INTERVAL_MS)
    assert [(log["event"], log["reason"]) for log in logs] == [("name server not reached", "it does not answer")]


def test_a_name_that_is_not_known_is_tried_again() -> None:
    registration, network, _ = begin("nowhere:9876", "127.0.0.1:9877")
    assert network.connected == ["127.0.0.1:9877"]
    assert registration.next_tick_ms() == PAUSE_MS


def test_a_name_that_takes_long_to_look_up_holds_up_nobody() -> None:
    registration, network, _ = begin("slow:9876", "127.0.0.1:9877")
    assert network.connected == ["127.0.0.1:9877"]
    assert registration.next_tick_ms() == LOOK_UP_PAUSE_MS


def test_a_changed_topic_is_told_at_once_to_who_is_there() -> None:
    registration, network, desk = begin("127.0.0.1:9876", "127.0.0.1:9877")
    registration.opened(1, now_ms=0)
    registration.answered(1, 1, 0, None, b"", now_ms=0)
    desk.context.topics.update([TopicConfig("orders")])
    registration.tell_changes(desk.context.topics.take_changed())
    assert network.topics() == {"orders"}
    version = json.loads(network.sent[-1][3])["topicConfigSerializeWrapper"]["dataVersion"]
    assert version["counter"] == 1
    assert registration.waiting() == {(1, 2)}
    registration.opened(2, now_ms=1)
    assert "orders" in network.topics()
    registration.closed(1, "peer", now_ms=2)
    assert registration.waiting() == {(2, 3)}


def test_topics_that_a_name_server_calls_ordered_are_marked() -> None:
    registration, _, desk = begin("127.0.0.1:9876")
    desk.context.topics.update([TopicConfig("orders")])
    registration.opened(1, now_ms=0)
    registration.answered(1, 1, 0, None, encode_kv_table({"orders": "broker-a:4", "unknown": "x"}), now_ms=0)
    topic = desk.context.topics.find("orders")
    assert topic is not None
    assert topic.is_ordered
    registration.answered(1, 1, 0, None, b"nonsense", now_ms=0)


def test_a_refused_registration_is_tried_again_later() -> None:
    registration, network, _ = begin("127.0.0.1:9876")
    registration.opened(1, now_ms=0)
    registration.answered(1, 1, 1, "no", b"", now_ms=0)
    assert registration.registered_at == []
    registration.tick(now_ms=INTERVAL_MS)
    assert len(network.sent) == 2


def test_it_unregisters_where_it_is_connected() -> None:
    registration, network, _ = begin("127.0.0.1:9876", "127.0.0.1:9877")
    registration.opened(1, now_ms=0)
    registration.unregister()
    assert network.sent[-1][:2] == (1, RequestCode.UNREGISTER_BROKER)
    assert registration.waiting() == {(1, 2)}
    registration.answered(1, 2, 0, None, b"", now_ms=0)
    assert registration.waiting() == frozenset()
