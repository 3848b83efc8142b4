"""Connections to servers, one to each address, and the questions that are open on them.

Whoever takes a question out of the table of its connection settles it: its answer, its deadline, or the end of the
connection.
"""

import itertools
import threading
from collections.abc import Callable
from typing import Final

from escrowmq._core import ConnectionClosed, Response, Server
from escrowmq.client.deadlines import Deadlines
from escrowmq.errors import NoAnswer, NotReachable, ServerClosed, TransportError
from escrowmq.protocol.headers.encoding import encode_header
from escrowmq.protocol.question import Question

_NUMBERS: Final = (1 << 31) - 1
_NOBODY_THERE: Final = "connect_failed"
_CLOSED: Final = "shutdown"


class _Asked:
    """A question that is open."""

    __slots__ = ("is_settled", "number", "peer", "settle")

    def __init__(self, peer: "_Peer", number: int, settle: Callable[[object, Exception | None], None]) -> None:
        self.peer = peer
        self.number = number
        self.settle = settle
        self.is_settled = False

    def answered(self, answer: Response) -> None:
        self.is_settled = True
        self.settle(answer, None)

    def expire(self) -> None:
        address = self.peer.address
        self.fail(NoAnswer(f"{address} does not answer", address=address))

    def fail(self, error: TransportError) -> None:
        if self.forget():
            self.settle(None, error)

    def forget(self) -> bool:
        """Takes it out of the table; whether it was there."""
        self.is_settled = True
        return self.peer.asked.pop(self.number, None) is not None


class _Peer:
    """A connection, from its beginning on."""

    __slots__ = ("address", "asked", "connection", "end")

    def __init__(self, address: str, connection: int) -> None:
        self.address = address
        self.connection = connection
        self.asked: dict[int, _Asked] = {}
        self.end: str | None = None

    def lost(self) -> TransportError:
        if self.end == _CLOSED:
            return ServerClosed("the client was closed")
        what = "can't be reached" if self.end == _NOBODY_THERE else "closes the connection instead of answering"
        return NotReachable(f"{self.address} {what}", address=self.address)


class Peers:
    """Any thread asks; one thread tells what came."""

    def __init__(self, server: Server, deadlines: Deadlines) -> None:
        self._server = server
        self._deadlines = deadlines
        self._by_address: dict[str, _Peer] = {}
        self._by_connection: dict[int, _Peer] = {}
        self._numbers = itertools.count(1)
        # A connection may end before whoever begins it has written it down.
        self._lock = threading.Lock()

    def ask(
        self, address: str, question: Question, *, timeout_s: float, settle: Callable[[object, Exception | None], None]
    ) -> Callable[[], object]:
        """Asks a numeric address; what is returned forgets the question.

        Raises:
            ServerClosed: The client was closed.
        """
        peer = self._peer(address)
        # Before it is sent: the answer may be here before this thread goes on.
        number = next(self._numbers) & _NUMBERS
        asked = peer.asked[number] = _Asked(peer, number, settle)
        try:
            self._send(peer, question, number=number)
        except BaseException:
            asked.forget()
            raise
        self._deadlines.expect(asked, timeout_s)
        if peer.end is not None:
            # It ended between its finding and now, and whoever was told of that did not see this question.
            asked.fail(peer.lost())
        return asked.forget

    def tell(self, address: str, question: Question) -> None:
        """Sends what nobody answers.

        Raises:
            ServerClosed: The client was closed.
        """
        self._send(self._peer(address), question, number=None)

    def answered(self, answer: Response) -> None:
        """An answer came. One that came too late is nobody's."""
        peer = self._by_connection.get(answer.connection)
        asked = None if peer is None else peer.asked.pop(answer.opaque, None)
        if asked is not None:
            asked.answered(answer)

    def ended(self, event: ConnectionClosed) -> str:
        """A connection has ended; which address it led to."""
        with self._lock:
            peer = self._by_connection.pop(event.connection, None)
        if peer is None:
            return event.peer
        # First, so that who asks meanwhile sees it.
        peer.end = event.reason
        if self._by_address.get(peer.address) is peer:
            del self._by_address[peer.address]
        for asked in list(peer.asked.values()):
            asked.fail(peer.lost())
        return peer.address

    def address_of(self, connection: int) -> str | None:
        """Where a connection leads."""
        peer = self._by_connection.get(connection)
        return None if peer is None else peer.address

    def connection_to(self, address: str) -> int:
        """The number of the connection to an address; 0 where there is none."""
        peer = self._by_address.get(address)
        return 0 if peer is None else peer.connection

    def fail_all(self) -> None:
        """Nothing is answered any more."""
        for peer in list(self._by_connection.values()):
            peer.end = _CLOSED
            for asked in list(peer.asked.values()):
                asked.fail(peer.lost())

    def _peer(self, address: str) -> _Peer:
        peer = self._by_address.get(address)
        if peer is not None:
            return peer
        with self._lock:
            peer = self._by_address.get(address)
            if peer is None:
                peer = _Peer(address, self._server.connect(address))
                self._by_connection[peer.connection] = peer
                self._by_address[address] = peer
        return peer

    def _send(self, peer: _Peer, question: Question, *, number: int | None) -> None:
        self._server.send(
            peer.connection,
            question.code,
            ext_fields=None if question.header is None else encode_header(question.header),
            body=question.body,
            one_way=number is None,
            opaque=number,
            remark=question.remark,
            language="PYTHON",
        )
