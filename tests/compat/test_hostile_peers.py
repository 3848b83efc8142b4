"""What hostile peers meet at `escrowmq up`: an answer or a closed connection, while others notice nothing.

Each test has a bystander: a client of the broker and of the name server that sends, reads and asks for routes all the
while, and is answered. What the server holds stays within a bound that the test argues.
"""

import contextlib
import json
import random
import re
import resource
import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
from tests.compat.asking import pull, route_code, send
from tests.compat.broker_process import Client, ServerProcess
from tests.unit.broker.desk import heartbeat
from tests.unit.server.peer import PATIENCE_S, Peer

from escrowmq import Frame, encode_frames
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

ANY_PORTS = ("--port=0", "--namesrv-port=0")
# A test need not wait as long as an operator may want to.
IMPATIENT = ("--set=broker.frame_timeout_s=1", "--set=broker.stall_timeout_s=1")

FRAME_SIZE_MAX = 16 << 20
IN_FLIGHT_MAX = 32 << 20
IN_FLIGHT_TOTAL_MAX = 256 << 20
# What comes and goes whatever peers do: arenas of the allocator, resident pages of the log, garbage of Python's.
MARGIN = 8 << 20

# A pull of everything from the beginning, which brings its subscription along.
WANTS_ALL = {
    "queueOffset": "0",
    "maxMsgNums": "1",
    "sysFlag": "4",
    "commitOffset": "0",
    "suspendTimeoutMillis": "0",
    "subscription": "*",
    "subVersion": "0",
    "expressionType": "TAG",
}

CONNECTIONS = 10_000
# Two sockets, in two processes; and what a process has open anyway.
DESCRIPTORS = CONNECTIONS + 500


class Bystander:
    """Somebody who behaves."""

    def __init__(self, server: ServerProcess) -> None:
        self._broker, self._name_server = Client(server.broker), Client(server.name_server)
        self._sent = 0
        self._broker.ask(RequestCode.HEART_BEAT, body=heartbeat("bystander"))

    def goes_on(self) -> None:
        """Sends, reads what was sent, and asks for the route: each is answered as if nobody else were there."""
        body = b"%d" % self._sent
        assert send(self._broker, "orders", body)["queueOffset"] == str(self._sent)
        assert pull(self._broker, "billing", "orders", offset=self._sent) == [body]
        assert route_code(self._name_server, "orders") == ResponseCode.SUCCESS
        self._sent += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._broker.socket.close()
        self._name_server.socket.close()


class Scene:
    """A server, a bystander that has begun, and the memory that the server took until then."""

    def __init__(self, server: ServerProcess, bystander: Bystander) -> None:
        self.server, self.bystander = server, bystander
        for _ in range(20):
            bystander.goes_on()
        self._before = self._resident()

    @property
    def doors(self) -> list[str]:
        """Where anybody can knock: the name server, the broker and its VIP port."""
        host, _, port = self.server.broker.rpartition(":")
        return [self.server.name_server, self.server.broker, f"{host}:{int(port) - 2}"]

    def grew_at_most(self, size: int) -> None:
        """Its memory may have grown so much, and by what grows anyway."""
        grown = self.grown()
        assert grown <= size + MARGIN, f"{grown >> 20} MiB more than before"

    def grown(self) -> int:
        """By how many bytes its memory grew."""
        return self._resident() - self._before

    def _resident(self) -> int:
        status = Path(f"/proc/{self.server.process.pid}/status").read_text(encoding="utf-8")
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) << 10


@contextlib.contextmanager
def begun(data: Path, *options: str) -> Iterator[Scene]:
    """The bystander has the last word, and the server stops in order."""
    with ServerProcess("up", data, *ANY_PORTS, *options) as server, Bystander(server) as bystander:
        yield Scene(server, bystander)
        bystander.goes_on()
        assert server.stop() == 0


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with begun(tmp_path / "data", *IMPATIENT) as scene:
        yield scene


def announced(size: int) -> bytes:
    """The beginning of a frame of that size with a header of four bytes."""
    return (size - 4).to_bytes(4) + bytes([0, 0, 0, 4]) + b"{}  "


def send_as_much_as_is_taken(peer: Peer, data: bytes) -> None:
    """The server may close while it is sent to."""
    with contextlib.suppress(ConnectionError):
        peer.socket.sendall(data)


def test_half_a_frame_for_ever_is_closed_even_if_bytes_keep_coming(scene: Scene) -> None:
    """What was announced is not allocated: fifty frames of 16 MiB of which little arrives cost little."""
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(Peer(scene.server.broker)) for _ in range(50)]
        for peer in silent:
            peer.socket.sendall(announced(FRAME_SIZE_MAX) + bytes(1_000))
        dripping = stack.enter_context(Peer(scene.server.broker))
        dripping.socket.sendall(announced(FRAME_SIZE_MAX))
        with contextlib.suppress(ConnectionError):
            while True:
                dripping.socket.sendall(b"x")
                scene.bystander.goes_on()
        scene.grew_at_most(50 * 2_000)
        for peer in silent:
            assert peer.is_closed()


def test_half_frames_that_fill_all_memory_for_frames_hold_up_nobody_else(tmp_path: Path) -> None:
    """Twenty times 15 MiB are more than all together may hold, and none is given up before half a minute is over.

    A buffer may be twice as large as what is in it.
    """
    with begun(tmp_path / "data") as scene, contextlib.ExitStack() as stack:
        half = announced(FRAME_SIZE_MAX) + bytes(15 << 20)
        left = dict.fromkeys((stack.enter_context(Peer(scene.server.broker)) for _ in range(20)), half)
        rounds_without_progress = 0
        while rounds_without_progress < 50:
            rounds_without_progress += 1
            for peer, data in left.items():
                peer.socket.settimeout(0)
                with contextlib.suppress(BlockingIOError):
                    left[peer] = data[peer.socket.send(data) :]
                    rounds_without_progress = 0 if data else rounds_without_progress
            scene.bystander.goes_on()
            scene.grew_at_most(2 * IN_FLIGHT_TOTAL_MAX)
        assert sum(len(half) - len(data) for data in left.values()) > IN_FLIGHT_TOTAL_MAX
        assert scene.grown() > 0.9 * IN_FLIGHT_TOTAL_MAX


def test_what_cannot_be_a_frame_is_closed_at_once(scene: Scene) -> None:
    nonsense = {
        "a length of 2 GiB": (0x7FFF_FFFF).to_bytes(4),
        "a length below zero": (0x8000_0000).to_bytes(4),
        "a length of nothing": bytes(4),
        "a header beyond its frame": (9).to_bytes(4) + (6).to_bytes(4),
        "a header of no kind": (9).to_bytes(4) + b"\x09" + (5).to_bytes(3),
        "HTTP": b"GET / HTTP/1.1\r\n\r\n",
        "TLS": b"\x16\x03\x01\x02\x00\x01",
    }
    for what, data in nonsense.items():
        for door in scene.doors:
            for _ in range(20):
                with Peer(door) as peer:
                    send_as_much_as_is_taken(peer, data + bytes(1_000))
                    assert peer.is_closed(), what
            scene.bystander.goes_on()
    scene.grew_at_most(0)


def test_random_bytes_are_answered_or_closed(scene: Scene) -> None:
    """Some look like frames: a length and a kind of header that may be right, a header that is JSON, a known code."""
    choice = random.Random(20_261_118)
    codes = [int(code) for code in RequestCode]
    for number in range(300):
        noise = choice.randbytes(choice.randrange(1, 3_000))
        frame = encode_frames(
            [
                Frame(
                    choice.choice(codes),
                    opaque=number,
                    version=choice.randrange(1_000),
                    ext_fields={choice.choice("abcdefghijklm"): noise.hex()[: choice.randrange(40)] for _ in range(12)},
                    body=noise,
                )
            ]
        )
        data = choice.choice([noise, len(noise).to_bytes(4) + noise, frame, frame[: len(frame) // 2]])
        with Peer(choice.choice(scene.doors)) as peer:
            send_as_much_as_is_taken(peer, data)
            with contextlib.suppress(ConnectionError):
                peer.socket.shutdown(socket.SHUT_WR)
                while peer.socket.recv(65_536):
                    pass
        if number % 10 == 0:
            scene.bystander.goes_on()
    # Groups and topics may have been made, and producers seen: of 3 KB each.
    scene.grew_at_most(300 * 6_000)


def test_clients_that_never_read_are_not_read_and_then_closed(scene: Scene) -> None:
    """One asks for records, which are not copied, the other for the topics, which Python writes anew each time.

    What waits to be sent may pass the limit of a connection by the answers that are being made as it does.
    """
    with Client(scene.server.broker) as client:
        for _ in range(8):
            send(client, "large", bytes(200_000))
    pull_fields = {"consumerGroup": "billing", "topic": "large", "queueId": "0", **WANTS_ALL, "maxMsgNums": "32"}
    questions = [
        Frame(RequestCode.PULL_MESSAGE, ext_fields=pull_fields, version=513, language="JAVA"),
        Frame(RequestCode.GET_ALL_TOPIC_CONFIG, version=513, language="JAVA"),
    ]
    for question in questions:
        requests = encode_frames([question] * 50)
        with Peer(scene.server.broker) as peer, contextlib.suppress(ConnectionError):
            while True:
                peer.socket.settimeout(0.05)
                with contextlib.suppress(TimeoutError):
                    peer.socket.sendall(requests)
                scene.bystander.goes_on()
                scene.grew_at_most(2 * IN_FLIGHT_MAX)


def test_what_cannot_be_passed_on_to_a_client_costs_its_asker_only(scene: Scene) -> None:
    """A binary header holds three million bytes that JSON writes with six letters each, and notices are JSON."""
    with Client(scene.server.broker) as asked, Peer(scene.server.broker) as asker:
        asked.ask(RequestCode.HEART_BEAT, body=heartbeat("asked", "billing", {"orders": ()}))
        fields = {"consumerGroup": "billing", "clientId": "asked", "topic": "orders", "x": "\x01" * 3_000_000}
        for code in (RequestCode.GET_CONSUMER_RUNNING_INFO, RequestCode.CONSUME_MESSAGE_DIRECTLY):
            asker.send(Frame(code, language="JAVA", version=513, ext_fields=fields, header_kind="binary"))
            (answer,) = asker.receive()
            assert answer.code == ResponseCode.SYSTEM_ERROR
            scene.bystander.goes_on()


def test_a_reply_with_numbers_that_no_record_holds_is_refused(scene: Scene) -> None:
    fields = {
        "a": "repliers",
        "b": "replies",
        "c": "TBW102",
        "d": "1",
        "e": "0",
        "f": "0",
        "g": "1",
        "h": "0",
        "i": "REPLY_TO_CLIENT\x01asker\x02",
        "j": "0",
    }
    with Client(scene.server.broker) as asker, Client(scene.server.broker) as replier:
        producer = b'{"clientID":"asker","consumerDataSet":[],"producerDataSet":[{"groupName":"askers"}]}'
        asker.ask(RequestCode.HEART_BEAT, body=producer)
        for too_large in ({"g": str(2**70)}, {"h": str(2**40)}, {"j": str(2**40)}):
            answer = replier.ask(RequestCode.SEND_REPLY_MESSAGE_V2, {**fields, **too_large}, b"reply")
            assert answer.code == ResponseCode.SYSTEM_ERROR
            scene.bystander.goes_on()


def test_a_consumer_of_an_unknown_kind_leaves_metrics_to_those_who_read_them(tmp_path: Path) -> None:
    with begun(tmp_path / "data", "--metrics-port=0") as scene, Client(scene.server.broker) as client:
        odd = heartbeat("odd", "odd", {"orders": ()}).replace(b"CONSUME_PASSIVELY", b"NONSENSE")
        assert b"NONSENSE" in odd
        assert client.ask(RequestCode.HEART_BEAT, body=odd).code == ResponseCode.SUCCESS
        (place,) = set(re.findall(r"http://(\S+)/metrics", scene.server.said))
        with contextlib.closing(HTTPConnection(place, timeout=PATIENCE_S)) as monitor:
            monitor.request("GET", "/metrics")
            assert 'consume_mode="unknown"' in monitor.getresponse().read().decode()


def test_names_that_lead_out_of_the_folder_lead_nowhere(scene: Scene, tmp_path: Path) -> None:
    """In sends, pulls, topics, routes, offsets and groups: whoever uses them is refused, and no file is made."""
    files = {path for path in tmp_path.rglob("*") if path.is_dir()}
    for name in ["../../outside", "..", "/outside", "a/../../b", "%RETRY%../../outside", "a\x00b", ".", "a\\..\\b"]:
        with Client(scene.server.broker) as client, Client(scene.server.name_server) as other:
            for code, fields in hostile_requests(name):
                answer = client.ask(code, fields, b"body")
                assert answer.code != ResponseCode.SUCCESS, (code, name)
            client.ask(RequestCode.HEART_BEAT, body=heartbeat("hostile", name, {name: ()}))
            commit = {"consumerGroup": name, "topic": name, "queueId": "0", "commitOffset": "7"}
            client.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commit)
            # Compat: it is no mistake to delete what is not there.
            client.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": name})
            assert route_code(other, name) != ResponseCode.SUCCESS
            known = bytes(client.ask(RequestCode.GET_ALL_TOPIC_CONFIG).body).decode()
            assert "outside" not in known
            assert ".." not in known
        scene.bystander.goes_on()
    assert {path for path in tmp_path.rglob("*") if path.is_dir()} == files
    assert not list(tmp_path.parent.glob("*outside*"))
    scene.grew_at_most(0)


def test_invented_names_of_producers_consumers_and_queues_are_refused_and_not_kept(scene: Scene) -> None:
    """A megabyte of names in each request, of which none is as long as a frame may be."""
    long_names = [f"{number}-" + "n" * 10_000 for number in range(100)]
    requests = {
        RequestCode.HEART_BEAT: [
            {"clientID": "c", "producerDataSet": [{"groupName": name} for name in long_names]},
            {"clientID": "c", "consumerDataSet": [{"groupName": f"invented-{number}"} for number in range(2_000)]},
        ],
        RequestCode.LOCK_BATCH_MQ: [
            {
                "clientId": "c",
                "consumerGroup": "invented",
                "mqSet": [{"topic": name, "brokerName": "broker-a", "queueId": 0} for name in long_names],
            }
        ],
    }
    with Client(scene.server.broker) as client:
        for round_number in range(30):
            for code, bodies in requests.items():
                for body in bodies:
                    client.ask(code, body=json.dumps({**body, "round": round_number}).encode())
            scene.bystander.goes_on()
        known = bytes(client.ask(RequestCode.GET_ALL_TOPIC_CONFIG).body).decode()
    assert "invented" not in known
    scene.grew_at_most(0)


def hostile_requests(name: str) -> list[tuple[int, dict[str, str]]]:
    """Requests with a name, none of which may succeed."""
    queue = {"topic": name, "queueId": "0"}
    new_style = {
        "a": "p",
        "b": name,
        "c": "TBW102",
        "d": "4",
        "e": "0",
        "f": "0",
        "g": "1",
        "h": "0",
        "i": "",
        "j": "0",
    }
    old_style = {
        "producerGroup": "p",
        **queue,
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": "4",
        "sysFlag": "0",
        "bornTimestamp": "1",
        "flag": "0",
        "properties": "",
        "reconsumeTimes": "0",
    }
    topic = {"topic": name, "defaultTopic": "TBW102", "readQueueNums": "4", "writeQueueNums": "4", "perm": "6"}
    more = {"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false"}
    return [
        (RequestCode.SEND_MESSAGE, old_style),
        (RequestCode.SEND_MESSAGE_V2, new_style),
        (RequestCode.SEND_BATCH_MESSAGE, {**new_style, "m": "true"}),
        (RequestCode.PULL_MESSAGE, {"consumerGroup": "billing", **queue, **WANTS_ALL}),
        (RequestCode.LITE_PULL_MESSAGE, {"consumerGroup": name, **queue, **WANTS_ALL}),
        (RequestCode.UPDATE_AND_CREATE_TOPIC, {**topic, **more}),
        (RequestCode.QUERY_CONSUMER_OFFSET, {"consumerGroup": name, **queue}),
        (RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": name}),
    ]


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """As many as it takes, for this process and those that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < DESCRIPTORS:
        pytest.skip(f"{CONNECTIONS:,} connections take {DESCRIPTORS:,} descriptors, and this process may have {hard:,}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_descriptors")
def test_ten_thousand_connections_are_held_and_each_is_answered(scene: Scene) -> None:
    """They come from several addresses, so that ports do not run out. A connection costs its books, and no buffer."""
    host, _, port = scene.server.broker.rpartition(":")
    question = encode_frames([Frame(RequestCode.GET_CONSUMER_LIST_BY_GROUP, ext_fields={"consumerGroup": "nobody"})])
    with contextlib.ExitStack() as stack:
        sockets = []
        for number in range(CONNECTIONS):
            source = (f"127.0.0.{2 + number % 8}", 0)
            sockets.append(stack.enter_context(socket.create_connection((host, int(port)), 20, source_address=source)))
            if number % 500 == 0:
                scene.bystander.goes_on()
        for each in sockets:
            each.sendall(question)
        for number, each in enumerate(sockets):
            assert each.recv(65_536)
            if number % 500 == 0:
                scene.bystander.goes_on()
        scene.grew_at_most(CONNECTIONS * 4_000)
