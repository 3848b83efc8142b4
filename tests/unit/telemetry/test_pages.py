"""Pages for monitors: what a peer gets, and what it may cost."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPConnection

import pytest

from escrowmq.errors import ListenFailed
from escrowmq.telemetry import pages
from escrowmq.telemetry.pages import REQUEST_MAX_BYTES, THREADS, Page, PageServer

PATIENCE_S = 20.0


def broken() -> Page:
    raise LookupError("nothing there")


@pytest.fixture
def server() -> Iterator[PageServer]:
    with PageServer("127.0.0.1", 0, {"/metrics": lambda: Page(b"up 1\n"), "/broken": broken}) as opened:
        yield opened


def connected(server: PageServer) -> socket.socket:
    host, _, port = server.address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def trickle(peer: socket.socket) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        peer.sendall(b"x")
        time.sleep(0.01)


def asked(server: PageServer, method: str, path: str) -> tuple[int, bytes]:
    connection = HTTPConnection(server.address, timeout=PATIENCE_S)
    connection.request(method, path)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    assert answer.getheader("Connection") == "close"
    connection.close()
    return found


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/metrics", (HTTPStatus.OK, b"up 1\n")),
        ("GET", "/metrics?name=up", (HTTPStatus.OK, b"up 1\n")),
        ("HEAD", "/metrics", (HTTPStatus.OK, b"")),
        ("GET", "/", (HTTPStatus.NOT_FOUND, b"there is /metrics, /broken\n")),
        ("POST", "/metrics", (HTTPStatus.METHOD_NOT_ALLOWED, b"only GET and HEAD\n")),
        ("GET", "/broken", (HTTPStatus.SERVICE_UNAVAILABLE, b"LookupError: nothing there\n")),
    ],
)
def test_a_page_is_shown_or_it_is_said_why_not(
    server: PageServer, method: str, path: str, expected: tuple[HTTPStatus, bytes]
) -> None:
    assert asked(server, method, path) == expected


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\r\n\r\n",
        b"GET /metrics\r\n\r\n",
        b"GET /metrics SPDY/3\r\n\r\n",
        b"x" * (REQUEST_MAX_BYTES + 1),
        b"\xff" * 9 + b"\r\n\r\n",
    ],
    ids=["empty", "no version", "another protocol", "endless", "no text"],
)
def test_what_is_no_request_is_closed_without_a_word(server: PageServer, request_bytes: bytes) -> None:
    with connected(server) as peer:
        peer.sendall(request_bytes)
        # Reset where there was more to read than was read.
        with contextlib.suppress(ConnectionResetError):
            assert peer.recv(100) == b""
    assert asked(server, "GET", "/metrics")[0] == HTTPStatus.OK


def test_peers_that_say_nothing_or_little_hold_up_nobody_for_long(
    server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "REQUEST_TIME_S", 0.2)
    silent = [connected(server) for _ in range(2 * THREADS)]
    for peer in silent:
        peer.sendall(b"GET /met")
    assert asked(server, "GET", "/metrics")[0] == HTTPStatus.OK
    for peer in silent:
        peer.close()


def test_a_peer_that_trickles_is_closed_in_time(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "REQUEST_TIME_S", 0.2)
    with connected(server) as peer, pytest.raises((ConnectionResetError, BrokenPipeError)):
        trickle(peer)


def test_nothing_is_left_of_it() -> None:
    threads = threading.active_count()
    with PageServer("127.0.0.1", 0, {}) as server:
        address = server.address
        with connected(server):
            pass
    assert threading.active_count() == threads
    host, _, port = address.rpartition(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def test_an_address_that_is_taken_is_an_error_of_ours() -> None:
    with PageServer("127.0.0.1", 0, {}) as server:
        port = int(server.address.rpartition(":")[2])
        with pytest.raises(ListenFailed, match="in use") as refused:
            PageServer("127.0.0.1", port, {})
    assert refused.value.address == f"127.0.0.1:{port}"
