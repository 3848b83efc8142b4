"""Requests from sockets to Python and answers back."""

import errno
import os
import select
import signal
import socket
import threading
from collections.abc import Iterator
from typing import Literal

import pytest
from tests.unit.server.peer import PATIENCE_S, Peer, echo, fetch, fetch_requests

from escrowmq import (
    Answer,
    ConnectionClosed,
    ConnectionOpened,
    Frame,
    Limits,
    Request,
    RequestWritten,
    Response,
    Server,
    errors,
)

LOOPBACK = "127.0.0.1:0"
SYSTEM_BUSY = 2


@pytest.fixture
def server() -> Iterator[Server]:
    with Server.start([LOOPBACK]) as started:
        yield started


@pytest.fixture
def peer(server: Server) -> Iterator[Peer]:
    with Peer(server.addresses[0]) as connected:
        yield connected


@pytest.mark.parametrize("kind", ["json", "binary"])
def test_an_echo_comes_back_in_the_kind_of_header_that_was_asked(
    server: Server, peer: Peer, kind: Literal["json", "binary"]
) -> None:
    fields = {"topic": "orders", "größe": "0"}
    peer.send(Frame(105, opaque=7, version=401, language="GO", ext_fields=fields, body=b"hello", header_kind=kind))
    (request,) = fetch_requests(server, 1)
    assert (request.code, request.opaque, request.flag, request.version) == (105, 7, 0, 401)
    assert (request.language, request.remark, request.header_kind) == ("GO", None, kind)
    assert request.ext_fields == fields
    assert request.ext_fields is request.ext_fields
    assert bytes(request.body) == b"hello"
    assert not request.is_one_way
    host, port = peer.socket.getsockname()
    assert request.peer == f"{host}:{port}"
    server.answer([echo(request)])
    (answer,) = peer.receive()
    assert (answer.header_kind, answer.opaque, answer.flag, answer.code) == (kind, 7, 1, 0)
    assert (answer.language, answer.version) == ("JAVA", 513)
    assert answer.ext_fields == {**fields, "code": "105"}
    assert bytes(answer.body) == b"hello"


def test_bodies_of_any_size_come_and_go_unchanged(server: Server, peer: Peer) -> None:
    body = os.urandom(3_000_000)
    sender = threading.Thread(target=peer.send, args=(Frame(1, body=body),))
    sender.start()
    (request,) = fetch_requests(server, 1)
    sender.join()
    view = request.body
    assert view.readonly
    assert view == body
    server.answer([(request, Answer(0, body=body))])
    assert peer.receive()[0].body == body


def test_thousands_of_requests_are_fetched_and_answered_in_batches() -> None:
    count = 5_000
    # One connection may fill a quarter of the queue.
    with Server.start([LOOPBACK], limits=Limits(requests_max=4 * count)) as server, Peer(server.addresses[0]) as peer:
        sender = threading.Thread(target=peer.send, args=[Frame(1, opaque=number) for number in range(count)])
        sender.start()
        answered = 0
        while answered < count:
            requests = [event for event in server.next_batch(timeout_s=PATIENCE_S) if isinstance(event, Request)]
            server.answer([echo(request) for request in requests])
            answered += len(requests)
        assert [frame.opaque for frame in peer.receive(count)] == list(range(count))
        sender.join()
        statistics = server.statistics()
        assert statistics.frames_received == statistics.frames_sent == count
        assert statistics.requests_waiting == 0


def test_connections_come_and_go_in_order_with_their_requests(server: Server, peer: Peer) -> None:
    peer.send(Frame(1), Frame(2))
    peer.socket.shutdown(socket.SHUT_WR)
    opened, first, second, closed = fetch(server, 4)
    assert isinstance(opened, ConnectionOpened)
    assert isinstance(first, Request)
    assert isinstance(second, Request)
    assert isinstance(closed, ConnectionClosed)
    assert len({event.connection for event in (opened, first, second, closed)}) == 1
    assert (first.code, second.code) == (1, 2)
    assert not opened.is_outgoing
    assert closed.reason == "peer"
    assert opened.peer == closed.peer
    server.answer([echo(first)])  # Nobody is there any more, and nothing happens.
    assert server.statistics().connections_closed == {"peer": 1}


def test_a_one_way_request_gets_no_answer(server: Server, peer: Peer) -> None:
    peer.send(Frame(1, opaque=1, flag=2), Frame(2, opaque=2))
    one_way, two_way = fetch_requests(server, 2)
    assert one_way.is_one_way
    server.answer([echo(one_way), echo(two_way)])
    assert [frame.opaque for frame in peer.receive()] == [2]


def test_a_full_queue_answers_system_busy() -> None:
    with Server.start([LOOPBACK], limits=Limits(requests_max=2)) as server, Peer(server.addresses[0]) as peer:
        peer.send(*[Frame(1, opaque=number, header_kind="binary") for number in range(5)])
        refused = peer.receive(3)
        assert [(frame.opaque, frame.code, frame.flag) for frame in refused] == [
            (number, SYSTEM_BUSY, 1) for number in (2, 3, 4)
        ]
        assert refused[0].remark == "system busy, 2 requests wait"
        assert refused[0].header_kind == "binary"
        server.answer([echo(request) for request in fetch_requests(server, 2)])
        assert [frame.opaque for frame in peer.receive(2)] == [0, 1]
        assert server.statistics().requests_refused == 3


def test_too_many_one_way_requests_wait_in_their_sockets_and_none_is_lost() -> None:
    with Server.start([LOOPBACK], limits=Limits(one_way_max=4)) as server, Peer(server.addresses[0]) as peer:
        peer.send(*[Frame(1, opaque=number, flag=2) for number in range(1_000)], Frame(2, opaque=1_000))
        assert [request.opaque for request in fetch_requests(server, 1_001)] == list(range(1_001))
        assert server.statistics().requests_refused == 0


def test_a_request_of_ours_is_answered_by_the_peer(server: Server, peer: Peer) -> None:
    (opened,) = fetch(server, 1)
    assert isinstance(opened, ConnectionOpened)
    number = server.send(opened.connection, 39, ext_fields={"offset": "3"}, body=b"half", one_way=False)
    (asked,) = peer.receive()
    assert (asked.code, asked.opaque, asked.flag, bytes(asked.body)) == (39, number, 0, b"half")
    peer.send(Frame(0, opaque=number, flag=1, remark="done", body=b"answer", ext_fields={"a": "b"}))
    (response,) = fetch(server, 1)
    assert isinstance(response, Response)
    assert (response.code, response.opaque, response.remark) == (0, number, "done")
    assert (bytes(response.body), response.ext_fields) == (b"answer", {"a": "b"})
    assert server.send(opened.connection, 40, opaque=77, header_kind="binary") == 77
    (notice,) = peer.receive()
    assert (notice.is_one_way, notice.opaque, notice.header_kind) == (True, 77, "binary")


def test_a_request_that_has_left_is_told_of_if_wished(server: Server, peer: Peer) -> None:
    (opened,) = fetch(server, 1)
    assert isinstance(opened, ConnectionOpened)
    silent = server.send(opened.connection, 39)
    number = server.send(opened.connection, 39, body=b"half", tells_when_written=True)
    (written,) = fetch(server, 1)
    assert isinstance(written, RequestWritten)
    assert (written.connection, written.opaque) == (opened.connection, number)
    assert repr(written) == f"RequestWritten(connection={opened.connection}, opaque={number})"
    assert [frame.opaque for frame in peer.receive(2)] == [silent, number]
    peer.socket.close()
    (closed,) = fetch(server, 1)
    assert isinstance(closed, ConnectionClosed)
    server.send(opened.connection, 39, tells_when_written=True)
    assert server.next_batch(timeout_s=0.0) == []


def test_two_servers_talk_to_each_other(server: Server) -> None:
    with Server.start([]) as client:
        assert client.addresses == []
        connection = client.connect(server.addresses[0])
        client.send(connection, 103, one_way=False, opaque=5)  # Sent when the connection is there.
        (request,) = fetch_requests(server, 1)
        server.answer([echo(request)])
        opened, response = fetch(client, 2)
        assert isinstance(opened, ConnectionOpened)
        assert (opened.connection, opened.is_outgoing, opened.peer) == (connection, True, server.addresses[0])
        assert isinstance(response, Response)
        assert (response.opaque, response.ext_fields) == (5, {"code": "103"})
        client.close_connection(connection)
        (closed,) = fetch(client, 1)
        assert isinstance(closed, ConnectionClosed)
        assert closed.reason == "requested"


def test_a_connection_that_cannot_be_made_is_closed(server: Server) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        connection = server.connect(f"127.0.0.1:{unused.getsockname()[1]}")
        (closed,) = fetch(server, 1)
    assert isinstance(closed, ConnectionClosed)
    assert (closed.connection, closed.reason) == (connection, "connect_failed")


def test_an_answer_is_given_once(server: Server, peer: Peer) -> None:
    peer.send(Frame(1, opaque=1), Frame(1, opaque=2))
    first, second = fetch_requests(server, 2)
    server.answer([echo(first)])
    with pytest.raises(ValueError, match="answered before"):
        server.answer([echo(second), echo(first)])
    server.answer([echo(second)])
    assert [frame.opaque for frame in peer.receive(2)] == [1, 2]


def test_an_answer_that_its_header_cannot_hold_is_refused_and_may_be_given_again(server: Server, peer: Peer) -> None:
    peer.send(Frame(1, header_kind="binary"))
    (request,) = fetch_requests(server, 1)
    with pytest.raises(errors.BadFrame, match="16 bits"):
        server.answer([(request, Answer(200_050))])
    server.answer([echo(request)])
    assert peer.receive()[0].code == 0


def test_bytes_that_are_no_frame_close_their_connection_and_no_other(server: Server, peer: Peer) -> None:
    openings: dict[bytes, str] = {
        b"GET / HTTP/1.1\r\n\r\n": "bad_frame",
        b"\x16\x03\x01\x02\x00\x01": "tls",
        b"\x00\x00\x00\x08\x00\x00\x00\x04nope": "bad_frame",
    }
    fetch(server, 1)
    for sent, reason in openings.items():
        with Peer(server.addresses[0]) as stranger:
            stranger.socket.sendall(sent)
            _, closed = fetch(server, 2)
            assert isinstance(closed, ConnectionClosed)
            assert closed.reason == reason
            assert stranger.is_closed()
    peer.send(Frame(1))
    server.answer([echo(request) for request in fetch_requests(server, 1)])
    assert len(peer.receive()) == 1


def test_what_is_dropped_unanswered_is_no_longer_in_flight(server: Server, peer: Peer) -> None:
    peer.send(Frame(1, body=b"x" * 1_000))
    requests = fetch_requests(server, 1)
    assert server.statistics().bytes_in_flight > 1_000
    requests.clear()
    peer.send(Frame(1))
    server.answer([echo(request) for request in fetch_requests(server, 1)])
    peer.receive()
    peer.socket.close()
    fetch(server, 1)
    assert server.statistics().bytes_in_flight == 0


def test_the_descriptor_is_readable_while_events_wait(server: Server) -> None:
    assert select.select([server.fileno()], [], [], 0)[0] == []
    with Peer(server.addresses[0]):
        assert select.select([server.fileno()], [], [], PATIENCE_S)[0] == [server.fileno()]
        fetch(server, 1)
        assert select.select([server.fileno()], [], [], 0)[0] == []
    assert select.select([server.fileno()], [], [], PATIENCE_S)[0] == [server.fileno()]


def test_a_wait_for_nothing_ends_in_time(server: Server) -> None:
    assert server.next_batch(timeout_s=0.0) == []
    assert server.next_batch(timeout_s=0.01) == []


def test_closing_sends_what_was_answered_and_ends_those_who_wait(server: Server, peer: Peer) -> None:
    peer.send(Frame(1, opaque=9))
    (request,) = fetch_requests(server, 1)
    server.answer([(request, Answer(0, body=b"x" * 2_000_000))])
    raised: list[BaseException] = []

    def wait() -> None:
        try:
            while True:
                server.next_batch()
        except errors.ServerClosed as error:
            raised.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    closing = threading.Thread(target=server.close)
    closing.start()
    (answer,) = peer.receive()
    assert (answer.opaque, len(answer.body)) == (9, 2_000_000)
    assert peer.is_closed()
    closing.join()
    waiting.join()
    assert len(raised) == 1
    with pytest.raises(errors.ServerClosed):
        server.answer([])
    with pytest.raises(errors.ServerClosed):
        server.connect("127.0.0.1:1")
    server.close_connection(1)
    server.close()


def test_an_address_in_use_is_named(server: Server) -> None:
    with pytest.raises(errors.ListenFailed, match=server.addresses[0]) as raised:
        Server.start([server.addresses[0]])
    assert raised.value.address == server.addresses[0]
    assert raised.value.system_error == errno.EADDRINUSE
    assert isinstance(raised.value, OSError)


@pytest.mark.parametrize("address", ["localhost:1", "127.0.0.1", "nonsense", ""])
def test_what_is_no_address_is_a_value_error(server: Server, address: str) -> None:
    with pytest.raises(ValueError, match="expected address:port"):
        Server.start([address])
    with pytest.raises(ValueError, match="expected address:port"):
        server.connect(address)


def test_limits_that_contradict_each_other_are_a_value_error() -> None:
    with pytest.raises(ValueError, match="in_flight_max_bytes is 10, but frame_size_max_bytes alone is 16777216"):
        Server.start([LOOPBACK], limits=Limits(in_flight_max_bytes=10))
    with pytest.raises(ValueError, match="connection_idle_s -1"):
        Limits(connection_idle_s=-1.0)


def test_a_silent_connection_is_closed_as_idle() -> None:
    with Server.start([LOOPBACK], limits=Limits(connection_idle_s=0.05)) as server, Peer(server.addresses[0]) as peer:
        assert peer.is_closed()
        closed = fetch(server, 2)[1]
        assert isinstance(closed, ConnectionClosed)
        assert closed.reason == "idle"


def test_a_forked_process_leaves_its_parents_server_alone(server: Server, peer: Peer) -> None:
    child = os.fork()
    if child == 0:
        try:
            server.statistics()
        except errors.ServerClosed:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    peer.send(Frame(1))
    server.answer([echo(request) for request in fetch_requests(server, 1)])
    assert len(peer.receive()) == 1


def test_a_signal_reaches_whoever_waits_in_the_main_thread(server: Server) -> None:
    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            server.next_batch()
    finally:
        signal.signal(signal.SIGALRM, before)
