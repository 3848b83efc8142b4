"""A name server and a broker in this process: on free ports, in a folder of their own, on a thread of their own.

Nothing is left of them afterwards: no thread, no descriptor, no file.
"""

import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self, TypedDict, Unpack

from msgspec.structs import replace

from escrowmq import _core
from escrowmq.admin import requests
from escrowmq.admin.client import Admin
from escrowmq.broker_config import BrokerConfig, StoreConfig
from escrowmq.config import Config, NameServerConfig, with_setting
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol.properties import KEYS, TAGS
from escrowmq.protocol.question import Question
from escrowmq.testing.servers import Servers
from escrowmq.testing.serving_thread import ServingThread
from escrowmq.testing.stored_message import StoredMessage, read_messages

# Small files, quickly made, and a disk that is never too full for what a test sends.
_CONFIG: Final = Config(
    # A clock that jumps makes a broker look silent for long; here it is as alive as its name server.
    namesrv=NameServerConfig(port=0, broker_timeout_ms=1 << 50),
    broker=BrokerConfig(port=0),
    store=StoreConfig(
        segment_size_bytes=16 << 20,
        queue_file_entries=10_000,
        index_slots=10_000,
        index_entries=40_000,
        checkpoint_interval_ms=100,
        disk_clean_ratio=1.0,
        disk_force_ratio=1.0,
        disk_refuse_ratio=1.0,
    ),
)
_PRODUCER_GROUP: Final = "escrowmq-testing"
_PATIENCE_S: Final = 10.0
_ADVANCE_MAX_MS: Final = (1 << 32) - 1
_ROUNDS_MAX: Final = 1_000
_DELIVERY_MAX_S: Final = 10.0
_DELIVERY_PAUSE_S: Final = 0.001


class Options(TypedDict, total=False):
    """How a broker is set up."""

    flush: Literal["sync", "async"]
    settings: Mapping[str, object]


class LocalBroker:
    """A broker with a name server, from its making to its closing. Use it as a context manager.

    Args:
        flush: `sync`, the default: a send is answered when it is on disk. `async`: when it is in memory.
        settings: Settings of `escrowmq.toml`, by `broker.KEY`, `store.KEY` or RocketMQ's name.
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        config = _config(**options)
        self._folder = Path(tempfile.mkdtemp(prefix="escrowmq-"))
        clock = _core.Clock()
        self._thread = ServingThread()
        self._servers = Servers(config, self._folder, clock, self._thread)
        self._clock = LocalClock(clock, self._thread)
        self._is_closed = False
        try:
            self._name_server = self._thread.call(self._servers.start_name_server)
            self._address = self._start_broker()
        except BaseException:
            self.close()
            raise

    @property
    def name_server(self) -> str:
        """Where the name server is: what clients are told."""
        return self._name_server

    @property
    def address(self) -> str:
        """Where the broker is."""
        return self._address

    @property
    def data(self) -> Path:
        """The folder of the store."""
        return self._folder / "broker"

    @property
    def clock(self) -> "LocalClock":
        """The clock that both go by."""
        return self._clock

    def create_topic(self, name: str, *, queues: int = 4) -> None:
        """Makes a topic, or alters it; the name server knows of it then.

        Raises:
            Refused: The broker does not want it; the message says why.
        """
        self._ask(requests.create_topic(TopicConfig(name, queues, queues)))

    def send(
        self,
        topic: str,
        body: bytes,
        *,
        tags: str | None = None,
        keys: str | Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Sends a message as a producer does, and returns when it is acknowledged.

        Raises:
            Refused: The broker does not want it; the message says why.
            NoAnswer: The broker does not answer.
        """
        named = {TAGS: tags or "", KEYS: keys if isinstance(keys, str) else " ".join(keys), **(properties or {})}
        given = {name: value for name, value in named.items() if value}
        self._ask(requests.send(topic, body, group=_PRODUCER_GROUP, properties=given))

    def messages(self, topic: str, *, count: int = 0) -> list[StoredMessage]:
        """All messages of a topic, in the order in which they were stored; none where there is no such topic.

        With a `count` it waits until there are as many: for what the broker delivers in its own time.

        Raises:
            TimeoutError: There are not as many after ten seconds.
        """
        until_s = time.monotonic() + _DELIVERY_MAX_S
        while len(found := read_messages(self._servers.broker.store, topic)) < count:
            if time.monotonic() >= until_s:
                raise TimeoutError(f"topic {topic!r} has {len(found)} messages, not {count}, after {_DELIVERY_MAX_S} s")
            time.sleep(_DELIVERY_PAUSE_S)
        return found

    def drop_next_answer(self, code: int) -> None:
        """Has the next request of this code carried out and not answered, once: its sender sees a timeout."""
        self._servers.broker.server.drop_next_answer(code)

    def fail_next_flush(self) -> None:
        """Has the next flush fail: nothing is acknowledged any more until the broker was killed and opened again."""
        self._servers.broker.store.fail_next_flush()

    def kill(self) -> None:
        """Ends the broker as SIGKILL would, between two steps of its threads; the name server stays.

        Raises:
            RuntimeError: It was killed before.
        """
        self._thread.call(self._servers.kill_broker)

    def reopen(self) -> None:
        """Starts the broker again after `kill`: on the same folder, which it recovers, and on the same port.

        Raises:
            RuntimeError: It was not killed.
        """
        if self._servers.has_broker:
            raise RuntimeError("the broker is open")
        self._start_broker()

    def close(self) -> None:
        """Stops both in order, and removes the folder. Again, it does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self._thread.call(self._servers.stop)
        finally:
            self._thread.close()
            shutil.rmtree(self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, question: Question) -> None:
        """Asks the broker as a client does."""
        with Admin([self._name_server], patience_s=_PATIENCE_S) as admin:
            admin.ask(self._address, question)

    def _start_broker(self) -> str:
        """Starts the broker, and waits until clients find it."""
        address = self._thread.call(self._servers.start_broker)
        self._thread.wait_until(lambda: bool(self._servers.broker.registered_at))
        return address


class LocalClock:
    """The clock of a broker and its name server, which a test moves on."""

    def __init__(self, clock: _core.Clock, thread: ServingThread) -> None:
        self._clock = clock
        self._thread = thread

    @property
    def wall_ms(self) -> int:
        """The time of day that it shows, in milliseconds since 1970 UTC."""
        return self._clock.wall_ms()

    def advance(self, *, seconds: float) -> None:
        """Moves it on.

        What the broker's thread has to do by then is done when this returns. Timers and the expiry of files, which have
        threads of their own, follow at once. Clients are real, and so is their time: those that the broker has not
        heard of for as long have to come back.

        Raises:
            ValueError: It does not go back.
        """
        if seconds < 0:
            raise ValueError(f"a clock does not go back, as by {seconds} seconds")
        left_ms = round(seconds * 1_000)
        while left_ms > 0:
            self._clock.advance(min(left_ms, _ADVANCE_MAX_MS))
            left_ms -= _ADVANCE_MAX_MS
        self._thread.call(self._do_what_is_due)

    def _do_what_is_due(self) -> None:
        for _ in range(_ROUNDS_MAX):
            servers = self._thread.servers
            for server in servers:
                server.step()
            if all(server.wait_ms() > 0 for server in servers):
                return


def _config(*, flush: Literal["sync", "async"] = "sync", settings: Mapping[str, object] | None = None) -> Config:
    config = replace(_CONFIG, store=replace(_CONFIG.store, flush=flush))
    for key, value in (settings or {}).items():
        config = with_setting(config, key, str(value))
    return config
