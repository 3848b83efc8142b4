"""`escrowmq up` as a client meets it: send, pull, rebalance, stop, start again."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import metadata
from pathlib import Path

import pytest
from tests.compat.asking import ask_to_send, brokers, commit, committed, pull, pull_all, route_code, send
from tests.compat.broker_process import Client, ServerProcess
from tests.compat.name_server_process import NameServerProcess, await_value
from tests.golden.recordings import messages, unpack_store
from tests.unit.broker.desk import heartbeat
from tests.unit.server.peer import Peer

from escrowmq import Frame
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

ANY_PORTS = ("--port=0", "--namesrv-port=0")
# What was recorded is old, and must not expire before it is read.
KEEP_ALL = "--set=store.retention_age_ms=4611686018427387904"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess("up", tmp_path / "data", *ANY_PORTS) as process:
        yield process


def test_it_says_where_it_listens_in_under_a_second(server: ServerProcess, tmp_path: Path) -> None:
    assert server.ready_after_cpu_s < 1.0
    assert str(tmp_path / "data") in server.said
    with Client(server.broker) as client, Client(server.name_server) as other:
        assert client.ask(RequestCode.GET_ALL_TOPIC_CONFIG).code == ResponseCode.SUCCESS
        assert brokers(other) == ["broker-a"]


def test_a_topic_that_was_sent_to_is_routed_when_the_send_is_answered(server: ServerProcess) -> None:
    with Client(server.broker) as client, Client(server.name_server) as name_server:
        receipt = send(client, "orders", b"first")
        assert receipt["queueOffset"] == "0"
        route = name_server.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "orders"})
        assert route.code == ResponseCode.SUCCESS
        assert json.loads(bytes(route.body))["queueDatas"][0]["writeQueueNums"] == 4
        assert send(client, "orders", b"second")["queueOffset"] == "1"


def test_a_consumer_reads_what_it_subscribed_to(server: ServerProcess) -> None:
    with Client(server.broker) as producer, Client(server.broker) as consumer:
        send(producer, "orders", b"wanted", tags="a")
        send(producer, "orders", b"unwanted", tags="z")
        subscription = {"orders": (ord("a"),)}
        consumer.ask(RequestCode.HEART_BEAT, body=heartbeat("one", "billing", subscription))
        assert pull(consumer, "billing", "orders") == [b"wanted"]
        assert commit(consumer, "billing", "orders", 2) == ResponseCode.SUCCESS
        assert committed(consumer, "billing", "orders") == "2"


def test_members_of_a_group_hear_of_who_comes_and_goes(server: ServerProcess) -> None:
    with Client(server.broker) as first:
        first.ask(RequestCode.HEART_BEAT, body=heartbeat("one"))
        assert first.await_told().code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED
        with Client(server.broker) as second:
            second.ask(RequestCode.HEART_BEAT, body=heartbeat("two"))
            assert first.await_told().ext_fields == {"consumerGroup": "billing"}
            members = first.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "billing"})
            assert json.loads(bytes(members.body)) == {"consumerIdList": ["one", "two"]}
        assert first.await_told().code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED
        members = first.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "billing"})
        assert json.loads(bytes(members.body)) == {"consumerIdList": ["one"]}


def test_the_vip_port_answers_too(server: ServerProcess) -> None:
    host, _, port = server.broker.rpartition(":")
    with Client(f"{host}:{int(port) - 2}") as client:
        assert send(client, "orders", b"first")["queueOffset"] == "0"


def test_after_an_orderly_stop_everything_is_there_again(tmp_path: Path) -> None:
    """Messages, topics, groups and offsets."""
    with ServerProcess("up", tmp_path / "data", *ANY_PORTS) as server, Client(server.broker) as client:
        send(client, "orders", b"kept")
        client.ask(RequestCode.HEART_BEAT, body=heartbeat("one"))
        assert pull(client, "billing", "orders") == [b"kept"]
        assert commit(client, "billing", "orders", 1) == ResponseCode.SUCCESS
        assert server.stop() == 0
    with ServerProcess("up", tmp_path / "data", *ANY_PORTS) as server, Client(server.broker) as client:
        assert committed(client, "billing", "orders") == "1"
        client.ask(RequestCode.HEART_BEAT, body=heartbeat("one"))
        assert pull(client, "billing", "orders") == [b"kept"]
        assert send(client, "orders", b"more")["queueOffset"] == "1"


@pytest.mark.parametrize("flush", ["sync", "async"])
def test_nothing_that_was_acknowledged_is_lost_when_it_is_stopped_in_the_middle(tmp_path: Path, flush: str) -> None:
    """Sends go on until one is not taken; all that were answered are there afterwards, in their order."""
    options = (*ANY_PORTS, f"--set=store.flush={flush}")
    acknowledged: list[bytes] = []
    with ServerProcess("up", tmp_path / "data", *options) as server:

        def send_on() -> None:
            with Client(server.broker) as client:
                while ask_to_send(client, "orders", b"%d" % len(acknowledged)).code == ResponseCode.SUCCESS:
                    acknowledged.append(b"%d" % len(acknowledged))

        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(send_on)
            await_value(lambda: len(acknowledged) > 50 or sending.done(), expected=True)
            assert server.stop() == 0
            # The last send was refused, or the connection ended before it was answered.
            assert isinstance(sending.exception(), OSError | None)
    with ServerProcess("up", tmp_path / "data", *options) as server, Client(server.broker) as client:
        client.ask(RequestCode.HEART_BEAT, body=heartbeat("one"))
        stored = pull_all(client, "billing", "orders")
    assert len(acknowledged) <= len(stored) <= len(acknowledged) + 1
    assert stored[: len(acknowledged)] == acknowledged


def test_a_broker_unregisters_when_it_stops_and_does_without_a_name_server_that_is_not_there(
    server: ServerProcess, tmp_path: Path
) -> None:
    port = server.name_server.rpartition(":")[2]
    options = ("--name=broker-b", "--port=0", f"--namesrv=localhost:{port};127.0.0.1:1")
    with ServerProcess("broker", tmp_path / "b", *options) as broker, Client(server.name_server) as client:
        with Client(broker.broker) as producer:
            send(producer, "payments", b"first")
        await_value(lambda: brokers(client), ["broker-a", "broker-b"])
        await_value(lambda: broker.log.count("name server not reached"), 1)
        assert broker.stop() == 0
        assert brokers(client) == ["broker-a"]


def test_a_name_server_that_comes_late_or_again_is_told_of_the_broker(tmp_path: Path) -> None:
    """It starts after the broker, is killed, and starts again knowing nothing; sends are answered all the while."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port: int = chosen.getsockname()[1]
    options = ("--port=0", f"--namesrv=127.0.0.1:{port}")
    with ServerProcess("broker", tmp_path / "broker", *options) as broker, Client(broker.broker) as producer:
        for number in range(2):
            send(producer, f"orders-{number}", b"first")
            data = tmp_path / f"namesrv-{number}"
            with NameServerProcess(data, port=port) as server, Client(server.address) as client:
                await_value(partial(route_code, client, f"orders-{number}"), ResponseCode.SUCCESS)
                assert brokers(client) == ["broker-a"]
        assert send(producer, "orders-0", b"second")["queueOffset"] == "1"


def test_a_store_that_apaches_broker_left_is_served(tmp_path: Path) -> None:
    """Its topics, its groups, what they had read, and its messages."""
    store = unpack_store("clean", tmp_path)
    with ServerProcess("broker", store, "--port=0", KEEP_ALL) as broker, Client(broker.broker) as client:
        assert committed(client, "billing", "orders") == "11"
        topics = json.loads(bytes(client.ask(RequestCode.GET_ALL_TOPIC_CONFIG).body))["topicConfigTable"]
        assert {"orders", "payments", "%RETRY%billing"} <= topics.keys()
        client.ask(RequestCode.HEART_BEAT, body=heartbeat("one"))
        stored = [row for row in messages("clean") if (row["topic"], row["queueId"]) == ("orders", 0)]
        assert len(pull_all(client, "billing", "orders")) == len(stored) == 11
        assert send(client, "orders", b"more")["queueOffset"] == "11"


def test_a_one_way_send_makes_its_topic_and_is_stored(server: ServerProcess) -> None:
    fields = {
        "a": "p",
        "b": "orders",
        "c": "TBW102",
        "d": "4",
        "e": "0",
        "f": "0",
        "g": "1",
        "h": "0",
        "i": "",
        "j": "0",
    }
    with Client(server.broker) as client:
        client.send(Frame(310, language="JAVA", version=513, opaque=77, flag=2, ext_fields=fields, body=b"one way"))
        client.ask(RequestCode.HEART_BEAT, body=heartbeat("one"))
        await_value(lambda: pull(client, "billing", "orders"), [b"one way"])


@pytest.mark.parametrize("one_way", [0, 2])
def test_sends_that_follow_each_other_keep_their_order_while_their_topic_is_made(
    server: ServerProcess, one_way: int
) -> None:
    fields = {
        "a": "p",
        "b": "fresh",
        "c": "TBW102",
        "d": "4",
        "e": "0",
        "f": "0",
        "g": "1",
        "h": "0",
        "i": "",
        "j": "0",
    }
    bodies = [b"%d" % number for number in range(500)]
    with Client(server.broker) as client:
        for number, body in enumerate(bodies):
            client.send(Frame(310, opaque=number + 1_000, flag=one_way, ext_fields=fields, body=body))
        if not one_way:
            answers = client.receive(len(bodies))
            assert [(answer.code, answer.ext_fields["queueOffset"]) for answer in answers] == [
                (ResponseCode.SUCCESS, str(number)) for number in range(500)
            ]
        consumer = heartbeat("one").replace(b"orders", b"fresh")
        assert client.ask(RequestCode.HEART_BEAT, body=consumer).code == ResponseCode.SUCCESS
        await_value(lambda: pull_all(client, "billing", "fresh"), bodies)


def test_a_name_as_long_as_a_frame_costs_only_its_sender(server: ServerProcess) -> None:
    """The remark would repeat it, and written as JSON would be longer than any header may be."""
    with Client(server.broker) as client, Client(server.broker) as other:
        answer = client.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": '"' * 7_000_000})
        assert answer.code == ResponseCode.SYSTEM_ERROR
        assert send(other, "orders", b"first")["queueOffset"] == "0"


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--set=broker.prot=1", "there is no setting broker.prot; the nearest is broker.port"),
        ("--set=broker.host=0.0.0.0", "set broker.advertise too"),
        ("--config=/nowhere/broker.conf", "can't be read"),
        ("--namesrv=foo", "the name server 'foo' is not HOST:PORT"),
        ("--namesrv=127.0.0.1:9876;foo:70000", "the name server 'foo:70000' is not HOST:PORT"),
        ("--set=nonsense", "'nonsense' is not KEY=VALUE"),
    ],
)
def test_what_can_not_be_run_is_refused_in_words(tmp_path: Path, option: str, words: str) -> None:
    with ServerProcess("broker", tmp_path / "b", "--port=0", option) as broker:
        assert broker.process.wait(20) > 0
        assert words in broker.log
    assert not (tmp_path / "b").exists()


def test_what_native_threads_log_stands_in_the_log_at_its_level(tmp_path: Path) -> None:
    """At the level info a connection that sends no frames is mentioned, at the level warning it is not."""
    for level, count in (("info", 1), ("warning", 0)):
        with ServerProcess("up", tmp_path / level, *ANY_PORTS, f"--log-level={level}") as server:
            with Peer(server.broker) as peer:
                peer.socket.sendall(b"\x7f\xff\xff\xff")
                assert peer.is_closed()
            assert server.stop() == 0
            assert server.log.count("closing a connection that sends no frames") == count


def test_it_says_its_version() -> None:
    done = subprocess.run([sys.executable, "-m", "escrowmq", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"escrowmq, version {metadata.version('escrowmq')}\n"
