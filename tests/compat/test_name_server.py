"""`escrowmq namesrv` as its users meet it: started, spoken to over sockets, restarted, stopped."""

import functools
import gzip
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.compat.name_server_process import ONE_WAY, NameServerProcess, RawClient, await_value
from tests.golden import name_server_conversation as conversation
from tests.golden.name_server_conversation import (
    CLUSTERS,
    GET_KV,
    HEARTBEAT,
    PUT_KV,
    REGISTER,
    ROUTE,
    TOPICS,
    Ask,
    Close,
    broker,
    table,
)
from tests.golden.recordings import DATA
from tests.unit.namesrv.desk import fastjson_value

from escrowmq import Frame, decode_frames
from escrowmq.protocol.response_codes import ResponseCode

ORDERS = {"topic": "orders"}
SKY = {"namespace": "colours", "key": "sky"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NameServerProcess]:
    with NameServerProcess(tmp_path / "namesrv") as process:
        yield process


@pytest.fixture
def client(server: NameServerProcess) -> Iterator[RawClient]:
    with RawClient(server.host_and_port) as connection:
        yield connection


def clusters(client: RawClient) -> list[str]:
    return sorted(fastjson_value(bytes(client.ask(CLUSTERS).body))["clusterAddrTable"])


def recorded_answers() -> Iterator[Frame]:
    with gzip.open(DATA / "namesrv-conversation.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows: list[dict[str, Any]] = list(map(json.loads, lines))
    for row in rows:
        if row["from"] == "server":
            (frame,), _ = decode_frames(bytes.fromhex(row["frame"]))
            yield frame


@pytest.mark.parametrize("header_kind", ["json", "binary"])
def test_the_recorded_conversation_goes_the_same_over_sockets(
    server: NameServerProcess, header_kind: Literal["json", "binary"]
) -> None:
    """Asked in either kind of header and answered in that kind. What follows a closing is asked until it is noticed."""
    clients: dict[str, RawClient] = {}
    expected = recorded_answers()
    has_closed = False
    for step in conversation.steps():
        if isinstance(step, Close):
            clients.pop(step.connection).close()
            has_closed = True
        elif isinstance(step, Ask):
            if step.connection not in clients:
                clients[step.connection] = RawClient(server.host_and_port)
            ask = functools.partial(asked, clients[step.connection], step, header_kind)
            theirs = facts(next(expected))
            if has_closed:
                await_value(ask, theirs)
            else:
                assert ask() == theirs, step
            has_closed = False
    assert next(expected, None) is None
    for client in clients.values():
        client.close()


def asked(client: RawClient, step: Ask, header_kind: Literal["json", "binary"]) -> tuple[object, ...]:
    answer = client.ask(step.code, dict(step.fields), step.body, version=step.version, header_kind=header_kind)
    assert answer.header_kind == header_kind
    return facts(answer)


def facts(answer: Frame) -> tuple[object, ...]:
    """All of an answer but its number and the order in which lists stand."""
    return (
        answer.code,
        answer.remark,
        answer.ext_fields,
        answer.language,
        answer.version,
        answer.flag,
        fastjson_value(bytes(answer.body)),
    )


def test_it_is_ready_in_less_than_a_second_and_stays_small(server: NameServerProcess) -> None:
    """Processor time stands for the clock, which a busy machine slows down."""
    assert server.cpu_s() < 1
    assert server.resident_mb() < 80
    assert server.address.startswith("127.0.0.1:")


def test_a_request_that_wants_no_answer_gets_none(client: RawClient) -> None:
    client.send(HEARTBEAT, broker(), flag=ONE_WAY)
    client.send(999, flag=ONE_WAY)
    assert client.ask(ROUTE, ORDERS).code == ResponseCode.TOPIC_NOT_EXIST


def test_a_broker_is_gone_when_its_connection_is(server: NameServerProcess, client: RawClient) -> None:
    with RawClient(server.host_and_port) as connection:
        assert connection.ask(REGISTER, broker(), table(*TOPICS)).code == ResponseCode.SUCCESS
        assert client.ask(ROUTE, ORDERS).code == ResponseCode.SUCCESS
    await_value(lambda: client.ask(ROUTE, ORDERS).code, ResponseCode.TOPIC_NOT_EXIST)
    assert clusters(client) == []
    assert server.log.count("broker registered") == server.log.count("broker gone") == 1


def test_a_silent_broker_is_gone_and_its_connection_closed(tmp_path: Path) -> None:
    config = tmp_path / "escrowmq.toml"
    config.write_text("[namesrv]\nbroker_timeout_ms = 300\nfirst_scan_ms = 50\nscan_interval_ms = 50\n")
    with (
        NameServerProcess(tmp_path / "namesrv", f"--config={config}") as server,
        RawClient(server.host_and_port) as silent,
        RawClient(server.host_and_port) as client,
    ):
        silent.ask(REGISTER, broker(), table(*TOPICS))
        assert silent.is_closed_by_peer()
        await_value(lambda: client.ask(ROUTE, ORDERS).code, ResponseCode.TOPIC_NOT_EXIST)


def test_an_idle_connection_is_closed_and_its_broker_gone(tmp_path: Path) -> None:
    config = tmp_path / "namesrv.conf"
    config.write_text("serverChannelMaxIdleTimeSeconds=1\n")
    with NameServerProcess(tmp_path / "namesrv", f"--config={config}") as server:
        with RawClient(server.host_and_port) as idle:
            idle.ask(REGISTER, broker(), table(*TOPICS))
            assert idle.is_closed_by_peer()
        with RawClient(server.host_and_port) as client:
            await_value(lambda: clusters(client), [])
        assert "idle" in server.log


def test_what_was_put_survives_a_kill(tmp_path: Path) -> None:
    data = tmp_path / "namesrv"
    with NameServerProcess(data) as server, RawClient(server.host_and_port) as client:
        client.ask(PUT_KV, {**SKY, "value": "blue"})
        server.kill()
    with NameServerProcess(data) as server, RawClient(server.host_and_port) as client:
        assert client.ask(GET_KV, SKY).ext_fields == {"value": "blue"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_when_asked_to(server: NameServerProcess, client: RawClient, number: signal.Signals) -> None:
    client.ask(CLUSTERS)
    server.process.send_signal(number)
    assert server.process.wait(10) == 0
    assert client.is_closed_by_peer()


def test_hostile_peers_cost_themselves_only(server: NameServerProcess, client: RawClient) -> None:
    """Half a frame for ever, a length of 2 GiB, a header beyond its frame, noise, and requests that are no requests."""
    hostile = [
        b"\x00\x00\x00\x10\x00",
        b"\x7f\xff\xff\xff",
        b"\x00\x00\x00\x08\x00\xff\xff\xff" + b"x" * 8,
        b"GET / HTTP/1.1\r\n",
    ]
    peers = [RawClient(server.host_and_port) for _ in hostile]
    for peer, data in zip(peers, hostile, strict=True):
        peer.send_bytes(data)
    with RawClient(server.host_and_port) as bad:
        assert (
            bad.ask(REGISTER, {**broker(), "compressed": "true"}, b"\x78\x9c noise").code == ResponseCode.SYSTEM_ERROR
        )
        assert bad.ask(ROUTE, {"topic": "../" * 300}).code == ResponseCode.TOPIC_NOT_EXIST
        assert bad.ask(ROUTE).remark == "the custom field <topic> is null"
        # What is asked for stands in the answer, and must not be more than a header can hold.
        assert bad.ask(999, {"more": "x" * 15_000_000}).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        assert bad.ask(GET_KV, {"namespace": "n" * 8_000_000, "key": "k" * 8_000_000}).is_response
    client.ask(REGISTER, broker(), table(*TOPICS))
    assert client.ask(ROUTE, ORDERS).code == ResponseCode.SUCCESS
    assert server.resident_mb() < 80
    for peer in peers:
        peer.close()


def test_it_listens_on_ipv6_if_told_to(tmp_path: Path) -> None:
    with NameServerProcess(tmp_path / "namesrv", "--host=::1") as server, RawClient(server.host_and_port) as client:
        assert server.address.startswith("[::1]:")
        assert clusters(client) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[namesrv]\nprot = 1\n", "Error: there is no setting namesrv.prot; the nearest is namesrv.port\n"),
        ("[namesrv]\nport = -1\n", "Error: namesrv.port = -1: Expected `int` >= 0\n"),
    ],
)
def test_a_wrong_setting_is_refused_in_words(tmp_path: Path, content: str, message: str) -> None:
    config = tmp_path / "escrowmq.toml"
    config.write_text(content)
    done = run_command("namesrv", f"--config={config}", f"--data={tmp_path}")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", message)


def test_a_port_that_is_taken_is_refused_in_words(server: NameServerProcess, tmp_path: Path) -> None:
    done = run_command("namesrv", f"--port={server.host_and_port[1]}", f"--data={tmp_path}")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert server.address in done.stderr
    assert done.stderr.count("\n") == 1


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "escrowmq", *arguments], capture_output=True, text=True, check=False, timeout=30
    )
