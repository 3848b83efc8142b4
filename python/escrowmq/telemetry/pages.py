"""A few pages over HTTP for monitors: one request a connection, and a bound on everything a peer may cost.

A handful of threads share one listening socket. A connection has its request read within a moment or is closed, so
neither silent peers nor slow ones keep others from being answered for long.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Final, Self

import structlog
from msgspec import Struct

from escrowmq.errors import ListenFailed

THREADS: Final = 4
BACKLOG: Final = 16
REQUEST_MAX_BYTES: Final = 8_192
REQUEST_TIME_S: Final = 2.0
ANSWER_TIME_S: Final = 10.0

_END: Final = b"\r\n\r\n"
_log = structlog.get_logger()


class Page(Struct, frozen=True):
    """What a page says at the moment."""

    body: bytes
    status: HTTPStatus = HTTPStatus.OK
    content_type: str = "text/plain; charset=utf-8"

    @classmethod
    def of_text(cls, text: str, status: HTTPStatus = HTTPStatus.OK) -> Self:
        """A page of one line."""
        return cls(f"{text}\n".encode(), status)


class PageServer:
    """Serves pages from its making to its closing. Use it as a context manager.

    Raises:
        ListenFailed: The address can't be listened on.
    """

    def __init__(self, host: str, port: int, pages: Mapping[str, Callable[[], Page]]) -> None:
        self._pages = pages
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
        except OSError as error:
            address = f"{host}:{port}"
            message = f"pages can't be served on {address}: {error.strerror}"
            raise ListenFailed(message, address=address, system_error=error.errno) from error
        self._threads = [
            threading.Thread(target=self._serve, name="escrowmq-pages", daemon=True) for _ in range(THREADS)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def address(self) -> str:
        """Where it listens."""
        host, port, *_ = self._listener.getsockname()
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def close(self) -> None:
        """Closes when those who asked are answered."""
        # It is this that ends the wait for connections; closing alone would not.
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                # A peer that goes, or is too slow, has itself to blame.
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        request = _read_request(connection)
        if request is None:
            return
        method, path = request
        page = self._page(method, path)
        head = (
            f"HTTP/1.1 {page.status.value} {page.status.phrase}\r\n"
            f"Content-Type: {page.content_type}\r\n"
            f"Content-Length: {len(page.body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        connection.settimeout(ANSWER_TIME_S)
        connection.sendall(head.encode() + (b"" if method == "HEAD" else page.body))

    def _page(self, method: str, path: str) -> Page:
        if method not in {"GET", "HEAD"}:
            return Page.of_text("only GET and HEAD", HTTPStatus.METHOD_NOT_ALLOWED)
        make = self._pages.get(path)
        if make is None:
            return Page.of_text(f"there is {', '.join(self._pages)}", HTTPStatus.NOT_FOUND)
        try:
            return make()
        except Exception as error:  # noqa: BLE001 - a page that fails costs whoever asked for it
            _log.warning("page failed", path=path, reason=str(error) or type(error).__name__)
            return Page.of_text(f"{type(error).__name__}: {error}", HTTPStatus.SERVICE_UNAVAILABLE)


def _read_request(connection: socket.socket) -> tuple[str, str] | None:
    """The method and the path of a request; None for what is none, or takes too long, or too much room."""
    deadline_s = time.monotonic() + REQUEST_TIME_S
    received = b""
    while _END not in received:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0 or len(received) > REQUEST_MAX_BYTES:
            return None
        connection.settimeout(left_s)
        more = connection.recv(REQUEST_MAX_BYTES)
        if not more:
            return None
        received += more
    words = received.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    if len(words) != len(("method", "target", "version")) or not words[2].startswith("HTTP/1."):
        return None
    return words[0], words[1].partition("?")[0]
