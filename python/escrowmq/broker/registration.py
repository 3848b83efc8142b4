"""How the broker makes itself known to its name servers: all topics at first and every 30 s, and changes at once.

    absent ──connect──▶ connecting ──opened──▶ registering ──answered──▶ registered
      ▲                     │                       │                        │
      └──── after a pause ──┴─────── closed ────────┴────────────────────────┘

A change is told to all name servers that are connected, and whoever caused it may wait until they have answered.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import structlog
from msgspec import Struct
from msgspec.structs import replace

from escrowmq.broker.ports import Peers
from escrowmq.broker.topics import READ_WRITE, Topics
from escrowmq.errors import EscrowError
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol import fastjson
from escrowmq.protocol.bodies.kv_table import decode_kv_table
from escrowmq.protocol.bodies.register_broker import RegisterBrokerBody, TopicTable, body_crc
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

INTERVAL_MS: Final = 30_000
PAUSE_MS: Final = 1_000
"""Between two attempts to reach a name server that is not there."""
COMPLAINT_INTERVAL_MS: Final = 60_000
"""Between two lines in the log that say that it is not there."""
LOOK_UP_PAUSE_MS: Final = 20
"""Between two looks whether its name has been looked up."""

_log = structlog.get_logger()


class Identity(Struct, frozen=True, kw_only=True):
    """What name servers know a broker by."""

    name: str
    cluster: str
    broker_id: int
    address: str
    ha_address: str

    def ext_fields(self) -> dict[str, str]:
        """The fields that all requests to name servers have."""
        return {
            "brokerName": self.name,
            "brokerAddr": self.address,
            "clusterName": self.cluster,
            "brokerId": str(self.broker_id),
        }


class _NameServer(Struct):
    """One name server, and what we wait for from it."""

    address: str
    connection: int | None = None
    is_open: bool = False
    is_registered: bool = False
    retry_at_ms: int = 0
    register_at_ms: int = 0
    # Since when it does not answer; None while it does.
    missing_since_ms: int | None = None
    complain_at_ms: int = 0


class Registration:
    """Keeps every name server informed. Not a thread: `tick` and the events of connections drive it.

    What the broker's `permission` does not allow, none of its topics does as name servers see it.
    """

    def __init__(
        self,
        identity: Identity,
        name_servers: Iterable[str],
        topics: Topics,
        peers: Peers,
        *,
        resolve: Callable[[str], str | None],
        interval_ms: int = INTERVAL_MS,
        permission: int = READ_WRITE,
    ) -> None:
        self.permission = permission
        self._identity = identity
        self._topics = topics
        self._peers = peers
        self._resolve = resolve
        self._interval_ms = interval_ms
        self._name_servers = [_NameServer(address) for address in dict.fromkeys(name_servers)]
        # Requests without an answer yet, by connection and number, with the name server that they went to.
        self._waiting: dict[tuple[int, int], _NameServer] = {}

    @property
    def registered_at(self) -> list[str]:
        """The name servers that know this broker."""
        return [server.address for server in self._name_servers if server.is_registered]

    def waiting(self) -> frozenset[tuple[int, int]]:
        """The requests that have no answer yet."""
        return frozenset(self._waiting)

    def next_tick_ms(self) -> float:
        """When `tick` has something to do; infinity for not before something happens."""
        return min((_due_ms(server) for server in self._name_servers), default=math.inf)

    def tick(self, *, now_ms: int) -> None:
        """Connects to name servers that are not connected, and registers again where it is time to."""
        for server in self._name_servers:
            if _due_ms(server) <= now_ms:
                if server.connection is None:
                    self._connect(server, now_ms=now_ms)
                elif server.is_open:
                    self._register(server, self._topics.table, now_ms=now_ms)

    def opened(self, connection: int, *, now_ms: int) -> None:
        """A connection that was begun is there."""
        server = self._find(connection)
        if server is not None:
            server.is_open = True
            self._register(server, self._topics.table, now_ms=now_ms)

    def closed(self, connection: int, reason: str, *, now_ms: int) -> None:
        """A connection is gone, or could not be made; what was not answered never will be."""
        server = self._find(connection)
        if server is None:
            return
        _miss(server, reason, now_ms=now_ms)
        server.connection, server.is_open, server.is_registered = None, False, False
        server.retry_at_ms = now_ms + PAUSE_MS
        self._forget_waiting(server)

    def answered(
        self, connection: int, opaque: int, code: int, remark: str | None, body: bytes | memoryview, *, now_ms: int
    ) -> None:
        """A name server has answered."""
        server = self._waiting.pop((connection, opaque), None)
        if server is None:
            return
        if code != ResponseCode.SUCCESS:
            _log.warning("registration refused", name_server=server.address, code=code, remark=remark)
            return
        if server.missing_since_ms is not None:
            missing_s = (now_ms - server.missing_since_ms) // 1_000
            _log.info("name server is back", name_server=server.address, missing_s=missing_s)
        elif not server.is_registered:
            _log.info("registered", name_server=server.address)
        server.is_registered, server.missing_since_ms, server.complain_at_ms = True, None, 0
        self._take_order(server, body)

    def tell_changes(self, topics: Iterable[TopicConfig]) -> None:
        """Tells all connected name servers of topics that came or were altered."""
        changed = {topic.name: topic for topic in topics}
        for server in self._name_servers:
            if server.is_open:
                self._send(server, changed)

    def tell_all(self) -> None:
        """Tells all connected name servers of every topic."""
        self.tell_changes(self._topics.table.values())

    def unregister(self) -> None:
        """Tells all connected name servers that this broker stops."""
        self._waiting.clear()
        for server in self._name_servers:
            if server.is_open and server.connection is not None:
                opaque = self._peers.send(
                    server.connection,
                    RequestCode.UNREGISTER_BROKER,
                    ext_fields=self._identity.ext_fields(),
                    one_way=False,
                )
                self._waiting[server.connection, opaque] = server

    def _connect(self, server: _NameServer, *, now_ms: int) -> None:
        server.retry_at_ms = now_ms + PAUSE_MS
        try:
            address = self._resolve(server.address)
            if address is None:
                server.retry_at_ms = now_ms + LOOK_UP_PAUSE_MS
            else:
                server.connection = self._peers.connect(address)
        except (ValueError, OSError) as error:
            _miss(server, str(error), now_ms=now_ms)

    def _register(self, server: _NameServer, topics: Mapping[str, TopicConfig], *, now_ms: int) -> None:
        server.register_at_ms = now_ms + self._interval_ms
        # A name server that has not answered for a whole interval never will: nobody waits for it any more.
        if self._forget_waiting(server):
            _miss(server, "it does not answer", now_ms=now_ms)
        self._send(server, topics)

    def _send(self, server: _NameServer, topics: Mapping[str, TopicConfig]) -> None:
        if server.connection is None:
            return
        body = fastjson.encode_strict(
            RegisterBrokerBody(TopicTable(self._as_allowed(topics), self._topics.data_version), filter_servers=[])
        )
        fields = self._identity.ext_fields() | {
            "haServerAddr": self._identity.ha_address,
            "enableActingMaster": "false",
            "compressed": "false",
            "bodyCrc32": str(body_crc(body)),
        }
        opaque = self._peers.send(
            server.connection, RequestCode.REGISTER_BROKER, ext_fields=fields, body=body, one_way=False
        )
        self._waiting[server.connection, opaque] = server

    def _as_allowed(self, topics: Mapping[str, TopicConfig]) -> dict[str, TopicConfig]:
        if self.permission & READ_WRITE == READ_WRITE:
            return dict(topics)
        return {name: replace(topic, permissions=topic.permissions & self.permission) for name, topic in topics.items()}

    def _forget_waiting(self, server: _NameServer) -> bool:
        """Whether there was anything to forget."""
        before = len(self._waiting)
        self._waiting = {key: waited for key, waited in self._waiting.items() if waited is not server}
        return len(self._waiting) < before

    def _take_order(self, server: _NameServer, body: bytes | memoryview) -> None:
        """The answer lists the topics that are ordered across brokers, where the name server has any."""
        if not body:
            return
        try:
            self._topics.mark_ordered(decode_kv_table(body))
        except EscrowError as error:
            _log.warning("order topics not taken over", name_server=server.address, reason=str(error))

    def _find(self, connection: int) -> _NameServer | None:
        return next((server for server in self._name_servers if server.connection == connection), None)


def _miss(server: _NameServer, reason: str, *, now_ms: int) -> None:
    """Says that a name server is not there: at once, and then now and again for as long as that lasts."""
    if server.missing_since_ms is None:
        server.missing_since_ms = now_ms
    if now_ms >= server.complain_at_ms:
        server.complain_at_ms = now_ms + COMPLAINT_INTERVAL_MS
        missing_s = (now_ms - server.missing_since_ms) // 1_000
        _log.warning("name server not reached", name_server=server.address, reason=reason, missing_s=missing_s)


def _due_ms(server: _NameServer) -> float:
    """When there is something to do: to connect, or to register again. While a connection is made, only to wait."""
    if server.connection is None:
        return server.retry_at_ms
    return server.register_at_ms if server.is_open else math.inf
