"""What a monitor reads of a broker, held against what was done to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compat.transacting import COMMIT, TransactionPeer
from tests.unit.broker_server.broker import ask, pull, send
from tests.unit.server.peer import Peer

from escrowmq import Clock, Frame
from escrowmq.broker.app import Broker
from escrowmq.broker.metrics import METRICS
from escrowmq.broker_config import BrokerConfig, StoreConfig
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.telemetry.exposition import render
from escrowmq.telemetry.metrics import Distribution, Reading
from escrowmq.testing.serving_thread import ServingThread

STORE = StoreConfig(
    segment_size_bytes=1 << 20, disk_clean_ratio=1.0, disk_force_ratio=1.0, disk_refuse_ratio=1.0, index_slots=100
)
HOUR_MS = 3_600_000
HEARTBEAT = b"""{"clientID":"c1","consumerDataSet":[{"groupName":"all","consumeType":"CONSUME_PASSIVELY",
"messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","subscriptionDataSet":[
{"topic":"orders","subString":"*","subVersion":5}]}],"producerDataSet":[{"groupName":"producers"}]}"""

Readings = dict[tuple[str, tuple[str, ...]], float]


class Monitored:
    """A broker on a thread that serves it, and a peer of it."""

    def __init__(self, data: Path, thread: ServingThread, store: StoreConfig = STORE) -> None:
        self.clock = Clock()
        self._thread = thread
        self.broker = thread.call(lambda: Broker(BrokerConfig(port=0), store, data=data, clock=self.clock))
        thread.call(lambda: thread.add(self.broker))

    def readings(self) -> Readings:
        found = list(self._thread.call(self.broker.metrics))
        assert len({(reading.metric.name, reading.labels) for reading in found}) == len(found), "each is there once"
        return {
            (reading.metric.name, reading.labels): reading.value
            for reading in found
            if not isinstance(reading.value, Distribution)
        }

    def unready(self) -> str | None:
        return self._thread.call(self.broker.unready)

    def close(self) -> None:
        self._thread.call(lambda: self._thread.remove(self.broker))
        self._thread.call(self.broker.abandon)


@pytest.fixture
def thread() -> Iterator[ServingThread]:
    started = ServingThread()
    yield started
    started.close()


@pytest.fixture
def monitored(tmp_path: Path, thread: ServingThread) -> Iterator[Monitored]:
    opened = Monitored(tmp_path, thread)
    yield opened
    opened.close()


@pytest.fixture
def peer(monitored: Monitored) -> Iterator[Peer]:
    with Peer(monitored.broker.advertised) as connected:
        yield connected


def commit(offset: int) -> Frame:
    fields = {"consumerGroup": "all", "topic": "orders", "queueId": "0", "commitOffset": str(offset)}
    return Frame(RequestCode.UPDATE_CONSUMER_OFFSET, ext_fields=fields)


def test_what_comes_in_and_goes_out_is_counted(monitored: Monitored, peer: Peer) -> None:
    peer.send(Frame(RequestCode.HEART_BEAT, language="GO", version=401, body=HEARTBEAT))
    assert len(peer.receive(2)) == 2
    for body in (b"one", b"two", b"three"):
        assert ask(peer, send(body)).code == ResponseCode.SUCCESS
    size_bytes = len(ask(peer, pull(0)).body)
    found = monitored.readings()
    to_group = ("orders", "all", "false", "false")
    assert found["rocketmq_messages_in_total", ("orders", "false")] == 3
    assert found["rocketmq_throughput_in_total", ("orders", "false")] == size_bytes
    assert found["rocketmq_messages_in_total", ("SCHEDULE_TOPIC_XXXX", "true")] == 0
    assert found["rocketmq_messages_out_total", to_group] == 3
    assert found["rocketmq_throughput_out_total", to_group] == size_bytes
    assert found["rocketmq_producer_connections", ("go", "v4_9_4", "remoting")] == 1
    assert found["rocketmq_consumer_connections", ("all", "go", "v4_9_4", "push", "remoting", "false")] == 1
    assert found["rocketmq_broker_permission", ()] == 6
    assert found["rocketmq_storage_flush_behind_bytes", ("local", "disk")] == 0
    assert found["rocketmq_storage_size_bytes", ("local", "disk")] > 0
    assert found["escrowmq_messages_appended_total", ()] == 3
    assert found["escrowmq_log_size_bytes", ()] == size_bytes
    assert found["escrowmq_connections", ()] == 1
    assert found["escrowmq_store_poisoned", ()] == 0


def test_lag_is_what_a_group_has_not_committed_though_nobody_consumes(monitored: Monitored, peer: Peer) -> None:
    with Peer(monitored.broker.advertised) as consumer:
        consumer.send(Frame(RequestCode.HEART_BEAT, body=HEARTBEAT))
        assert len(consumer.receive(2)) == 2
        ask(peer, send(b"one"))
        ask(peer, commit(0))
    while any(name == "rocketmq_consumer_connections" for name, _ in monitored.readings()):
        continue
    labels = ("orders", "all", "false", "false")
    monitored.clock.advance(HOUR_MS)
    ask(peer, send(b"two"))
    found = monitored.readings()
    assert found["rocketmq_consumer_lag_messages", labels] == 2
    assert HOUR_MS <= found["rocketmq_consumer_lag_latency_milliseconds", labels] <= 2 * HOUR_MS
    assert HOUR_MS <= found["rocketmq_storage_message_reserve_time_milliseconds", ("local", "disk")] <= 2 * HOUR_MS
    ask(peer, commit(2))
    found = monitored.readings()
    assert found["rocketmq_consumer_lag_messages", labels] == 0
    assert found["rocketmq_consumer_lag_latency_milliseconds", labels] == 0


def test_transactions_are_counted(monitored: Monitored) -> None:
    with TransactionPeer(monitored.broker.advertised) as producer:
        assert producer.end(producer.prepare("A"), COMMIT).code == ResponseCode.SUCCESS
        producer.prepare("B")
    found = monitored.readings()
    assert found["rocketmq_half_messages", ("orders",)] == 1
    assert found["rocketmq_commit_messages_total", ("orders",)] == 1


def test_readings_are_of_the_metrics_that_are_listed_with_all_their_labels(monitored: Monitored, peer: Peer) -> None:
    ask(peer, send(b"one"))
    ask(peer, commit(0))
    listed = {metric.name: metric for metric in METRICS}
    for name, labels in monitored.readings():
        assert len(labels) == len(listed[name].labels), name


def test_the_text_is_prometheus_s(monitored: Monitored) -> None:
    reading = next(metric for metric in METRICS if metric.name == "rocketmq_messages_in_total")
    everywhere = {"cluster": "c", "node_type": "broker"}
    text = render([Reading(reading, 7, ('say "hi"', "false"))], everywhere=everywhere).decode()
    assert "# TYPE rocketmq_messages_in_total counter\n" in text
    assert (
        'rocketmq_messages_in_total{cluster="c",is_system="false",node_type="broker",topic="say \\"hi\\""} 7.0\n'
        in text
    )
    assert "process_resident_memory_bytes" in text
    assert b"rocketmq_topic_number" in render(list(monitored.broker.metrics()), everywhere=everywhere)


def test_a_broker_is_ready_unless_it_refuses_sends(monitored: Monitored, peer: Peer) -> None:
    assert monitored.unready() is None
    ask(peer, send(b"one"))
    monitored.broker.store.fail_next_flush()
    ask(peer, send(b"two"))
    assert str(monitored.unready()).startswith("the store is poisoned: ")
    assert monitored.readings()["escrowmq_store_poisoned", ()] == 1


def test_a_broker_whose_timers_stand_still_is_not_ready(monitored: Monitored, peer: Peer, tmp_path: Path) -> None:
    """They find a file where their folder should be, and stop; the store takes other messages all the same."""
    (tmp_path / "timerlog").write_bytes(b"")
    ask(peer, timed := send(b"later", properties="TIMER_DELAY_SEC\x015\x02"))
    while (reason := monitored.unready()) is None:
        monitored.clock.advance(1_000)
    assert reason.startswith("the timers stand still: ")
    assert ask(peer, timed).code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert ask(peer, send(b"now")).code == ResponseCode.SUCCESS


def test_consuming_in_a_way_that_nobody_knows_is_counted_as_such(monitored: Monitored, peer: Peer) -> None:
    odd = HEARTBEAT.replace(b"CONSUME_PASSIVELY", b"NONSENSE")
    peer.send(Frame(RequestCode.HEART_BEAT, language="GO", version=401, body=odd))
    assert len(peer.receive(2)) == 2
    labels = ("all", "go", "v4_9_4", "unknown", "remoting", "false")
    assert monitored.readings()["rocketmq_consumer_connections", labels] == 1


def test_a_broker_whose_disk_is_too_full_is_not_ready(tmp_path: Path, thread: ServingThread) -> None:
    store = StoreConfig(
        segment_size_bytes=1 << 20, disk_clean_ratio=1e-9, disk_force_ratio=1e-9, disk_refuse_ratio=1e-9
    )
    full = Monitored(tmp_path, thread, store)
    assert str(full.unready()).startswith("the disk is full: ")
    full.close()
