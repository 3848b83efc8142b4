"""A name server without sockets: requests in, answers out, the clock in the test's hand."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from escrowmq.config import NameServerConfig
from escrowmq.namesrv import processors
from escrowmq.namesrv.context import Context
from escrowmq.namesrv.kv_config import KvConfig
from escrowmq.namesrv.liveness import Liveness
from escrowmq.namesrv.registration import LiveBroker
from escrowmq.namesrv.route_table import RouteTable
from escrowmq.protocol.messages import Answer


class KeptInMemory:
    """Where values are kept: a disk that can be full."""

    def __init__(self, content: bytes | None = None) -> None:
        self.content = content
        self.is_full = False

    def read(self) -> bytes | None:
        return self.content

    def write(self, content: bytes) -> None:
        if self.is_full:
            raise OSError(28, "No space left on device")
        self.content = content


@dataclass(frozen=True)
class TestRequest:
    """A request as handlers see it."""

    __test__ = False

    code: int
    ext_fields: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    version: int = 513
    connection: int = 1
    peer: str = "127.0.0.1:40000"


class Desk:
    """All of a name server but the network."""

    def __init__(self, config: NameServerConfig | None = None, kept: KeptInMemory | None = None) -> None:
        self.now_ms = 0
        self.gone: list[tuple[LiveBroker, str]] = []
        self.kept = kept or KeptInMemory()
        settings = config or NameServerConfig()
        self.routes = RouteTable(broker_timeout_ms=settings.broker_timeout_ms)
        self.context = Context(
            routes=self.routes,
            kv_config=KvConfig(self.kept),
            config=settings,
            now_ms=lambda: self.now_ms,
            started_at_ms=0,
        )
        self.liveness = Liveness(
            self.routes,
            started_at_ms=0,
            first_scan_ms=settings.first_scan_ms,
            scan_interval_ms=settings.scan_interval_ms,
            on_gone=self._note_gone,
        )

    def ask(
        self,
        code: int,
        fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        version: int = 513,
        connection: int = 1,
    ) -> Answer:
        request = TestRequest(code, fields or {}, body, version=version, connection=connection)
        return processors.process(self.context, request)

    def _note_gone(self, broker: LiveBroker, reason: str) -> None:
        self.gone.append((broker, reason))

    def wait(self, duration_ms: int) -> None:
        """Time goes by, and the name server looks when it should."""
        end_ms = self.now_ms + duration_ms
        while self.now_ms < end_ms:
            self.now_ms += min(self.liveness.wait_ms(self.now_ms) or 1, end_ms - self.now_ms)
            self.liveness.scan(self.now_ms)


def fastjson_value(body: bytes) -> Any:
    """A body as a value: integer keys without quotes are read as with, lists of names and brokers in one order."""
    if not body:
        return None
    return _in_order(json.loads(re.sub(rb"([{,])(-?\d+):", rb'\1"\2":', body)))


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_order(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted((_in_order(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    return value


def unquoted_keys(body: bytes) -> list[bytes]:
    """The keys of a body that stand without quotes."""
    return re.findall(rb"[{,](-?\d+):", body)
