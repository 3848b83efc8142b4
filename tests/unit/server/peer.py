"""A peer of a server: a raw socket that speaks frames, and the server's side of a test."""

import socket
from types import TracebackType
from typing import Self

from escrowmq import (
    Answer,
    ConnectionClosed,
    ConnectionOpened,
    Frame,
    LogVisible,
    Request,
    RequestWritten,
    Response,
    Server,
    decode_frames,
    encode_frames,
)

Event = Request | Response | RequestWritten | ConnectionOpened | ConnectionClosed | LogVisible

# No test waits this long unless it fails.
PATIENCE_S = 20.0


class Peer:
    """A blocking socket with a buffer."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE_S)
        self.received = b""

    def send(self, *frames: Frame) -> None:
        self.socket.sendall(encode_frames(frames))

    def receive(self, count: int = 1) -> list[Frame]:
        """The next frames; fewer if the server closes."""
        frames: list[Frame] = []
        while len(frames) < count:
            found, size = decode_frames(self.received)
            frames += found
            self.received = self.received[size:]
            if not found:
                data = self.socket.recv(65_536)
                if not data:
                    break
                self.received += data
        return frames

    def is_closed(self) -> bool:
        """Waits until the server closes, and says whether nothing came before."""
        try:
            return self.receive() == []
        except ConnectionResetError:
            return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.socket.close()


def fetch(server: Server, count: int) -> list[Event]:
    """Exactly so many events."""
    events: list[Event] = []
    while len(events) < count:
        batch = server.next_batch(count_max=count - len(events), timeout_s=PATIENCE_S)
        assert batch, f"{len(events)} of {count} events came"
        events += batch
    return events


def fetch_requests(server: Server, count: int) -> list[Request]:
    """So many requests; other events are passed over."""
    requests: list[Request] = []
    while len(requests) < count:
        requests += [event for event in fetch(server, 1) if isinstance(event, Request)]
    return requests


def echo(request: Request) -> tuple[Request, Answer]:
    """An answer that says what was asked."""
    return request, Answer(0, ext_fields={**request.ext_fields, "code": str(request.code)}, body=request.body)
