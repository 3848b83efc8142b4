"""A request as handlers see it, and the answer that they give back. Whoever owns the socket converts."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from escrowmq.protocol.response_codes import ResponseCode


class Request(Protocol):
    """A request that was received: `escrowmq._core.Request`, or a test's own."""

    @property
    def connection(self) -> int:
        """The connection it came by; no number is used twice."""

    @property
    def peer(self) -> str:
        """Address of the peer, as `address:port`."""

    @property
    def code(self) -> int:
        """Request code."""

    @property
    def version(self) -> int:
        """Ordinal of the peer's version."""

    @property
    def ext_fields(self) -> Mapping[str, str]:
        """The fields of the request."""

    @property
    def body(self) -> memoryview | bytes:
        """The body, empty where there is none."""


class Answer(Struct, frozen=True):
    """What a request is answered with."""

    code: int = ResponseCode.SUCCESS
    remark: str | None = None
    ext_fields: dict[str, str] = {}
    body: bytes = b""
