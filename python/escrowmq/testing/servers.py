"""A name server and a broker on the thread that serves them: every call here is made on it."""

import contextlib
import gc
import sys
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from escrowmq import _core
from escrowmq.broker.app import Broker
from escrowmq.config import Config
from escrowmq.errors import ListenFailed, StorePoisoned
from escrowmq.namesrv.app import NameServer
from escrowmq.testing.serving_thread import ServingThread

LISTEN_ATTEMPTS_MAX: Final = 10
REFERENCES_HERE: Final = 2


class Servers:
    """What is served, from the start of the name server to the end of all."""

    def __init__(self, config: Config, folder: Path, clock: _core.Clock, thread: ServingThread) -> None:
        self._config = config
        self._folder = folder
        self._clock = clock
        self._thread = thread
        self._name_server: NameServer | None = None
        self._broker: Broker | None = None

    @property
    def broker(self) -> Broker:
        """The broker.

        Raises:
            RuntimeError: It was killed.
        """
        if self._broker is None:
            raise RuntimeError("there is no broker: it was killed, and not opened again")
        return self._broker

    @property
    def has_broker(self) -> bool:
        """Whether there is one."""
        return self._broker is not None

    def start_name_server(self) -> str:
        """Starts it, and says where it is."""
        self._name_server = NameServer(self._config.namesrv, data=self._folder / "namesrv", clock=self._clock)
        self._thread.add(self._name_server)
        (address,) = self._name_server.addresses
        broker = replace(self._config.broker, name_servers=[address])
        self._config = replace(self._config, broker=broker)
        return address

    def start_broker(self) -> str:
        """Starts it, and says where it is: there it is again when it is started again."""
        self._broker = self._listen()
        self._thread.add(self._broker)
        host, _, port = self._broker.advertised.rpartition(":")
        self._config = replace(self._config, broker=replace(self._config.broker, port=int(port)))
        return f"{host}:{port}"

    def kill_broker(self) -> None:
        """Ends it as SIGKILL would."""
        broker = self.broker
        self._thread.remove(broker)
        self._broker = None
        broker.abandon()
        _let_go(broker)

    def stop(self) -> None:
        """Stops both in order."""
        try:
            if self._broker is not None:
                self._thread.remove(self._broker)
                broker, self._broker = self._broker, None
                try:
                    # After a flush that failed there is nothing left to close in order.
                    with contextlib.suppress(StorePoisoned):
                        broker.close()
                finally:
                    _let_go(broker)
        finally:
            if self._name_server is not None:
                self._thread.remove(self._name_server)
                self._name_server.close()
                _let_go(self._name_server)

    def _listen(self) -> Broker:
        """A broker; where the port that was free a moment ago is somebody else's by now, on another one."""
        attempts_left = 1 if self._config.broker.port else LISTEN_ATTEMPTS_MAX
        while True:
            attempts_left -= 1
            try:
                return Broker(
                    self._config.broker,
                    self._config.store,
                    data=self._folder / "broker",
                    clock=self._clock,
                    while_stopping=self._step_name_server,
                )
            except ListenFailed:
                if not attempts_left:
                    raise

    def _step_name_server(self) -> None:
        if self._name_server is not None:
            self._name_server.step()


def _let_go(server: Broker | NameServer) -> None:
    """Has all that it holds closed now, and not when the collector of cycles comes by."""
    native = server.server
    vars(server).clear()
    # More than here and in the call: what the server held holds itself. Then the collector has to come by at once.
    if sys.getrefcount(native) > REFERENCES_HERE:
        del native
        gc.collect()
