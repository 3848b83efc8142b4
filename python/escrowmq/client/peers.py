"""Connections to servers, one to each address, and questions that are asked by them."""

import threading
from collections.abc import Callable

from escrowmq._core import Caller, ConnectionClosed, OutgoingRequest, Response
from escrowmq.client.mail import Asked, Mail
from escrowmq.errors import NoAnswer, NotReachable, ServerClosed, TransportError

_NOBODY_THERE = "connect_failed"
_CLOSED = "shutdown"


class Peer:
    """A connection, from its beginning on."""

    __slots__ = ("address", "caller", "connection")

    def __init__(self, caller: Caller, address: str, connection: int) -> None:
        self.caller = caller
        self.address = address
        self.connection = connection

    def lost(self, reason: str) -> TransportError:
        """What becomes of questions when the connection has ended."""
        if reason == _CLOSED:
            return ServerClosed("the client was closed")
        what = "can't be reached" if reason == _NOBODY_THERE else "closes the connection instead of answering"
        return NotReachable(f"{self.address} {what}", address=self.address)


class Peers:
    """Any thread asks; one thread hears of connections that end."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._by_address: dict[str, Peer] = {}
        self._by_connection: dict[int, Peer] = {}
        # A connection may end before whoever begins it has written it down.
        self._lock = threading.Lock()

    def ask_and_wait(self, address: str, request: OutgoingRequest, timeout_s: float) -> Response:
        """Asks a numeric address, and sleeps until the answer is there.

        Raises:
            NotReachable: There is nobody, or the connection ends before.
            NoAnswer: It does not come in time.
            ServerClosed: The client was closed.
        """
        peer = self._by_address.get(address) or self._connect(address)
        reply = self._caller.ask(peer.connection, request, timeout_s)
        if type(reply) is Response:
            return reply
        if reply is None:
            raise NoAnswer(f"{address} does not answer", address=address)
        raise peer.lost(str(reply))

    def ask(
        self, mail: Mail, address: str, request: OutgoingRequest, settle: Callable[[object, Exception | None], None]
    ) -> Asked:
        """Asks a numeric address; the reply comes by that mail.

        Raises:
            ServerClosed: The client was closed.
        """
        return mail.ask(self._by_address.get(address) or self._connect(address), request, settle)

    def tell(self, address: str, request: OutgoingRequest) -> None:
        """Sends what nobody answers.

        Raises:
            ServerClosed: The client was closed.
        """
        peer = self._by_address.get(address) or self._connect(address)
        self._caller.tell(peer.connection, request)

    def ended(self, event: ConnectionClosed) -> str:
        """A connection has ended; which address it led to."""
        with self._lock:
            peer = self._by_connection.pop(event.connection, None)
            if peer is None:
                return event.peer
            if self._by_address.get(peer.address) is peer:
                del self._by_address[peer.address]
        return peer.address

    def address_of(self, connection: int) -> str | None:
        """Where a connection leads."""
        peer = self._by_connection.get(connection)
        return None if peer is None else peer.address

    def _connect(self, address: str) -> Peer:
        with self._lock:
            peer = self._by_address.get(address)
            if peer is None:
                peer = Peer(self._caller, address, self._caller.connect(address))
                self._by_connection[peer.connection] = peer
                self._by_address[address] = peer
        return peer
