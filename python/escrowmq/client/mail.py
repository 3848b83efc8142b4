"""Questions of one thread or event loop, and the replies that the epoll thread puts into its queue."""

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from escrowmq._core import OutgoingRequest, Replies, Response
from escrowmq.errors import NoAnswer, TransportError

if TYPE_CHECKING:
    from escrowmq.client.peers import Peer

Told = Callable[[object, Exception | None], None]


class Asked:
    """A question that is open. Whoever takes it out of the table of its mail settles it."""

    __slots__ = ("is_settled", "mail", "number", "peer", "settle", "token")

    def __init__(self, mail: "Mail", peer: "Peer", token: int, settle: Told) -> None:
        self.mail = mail
        self.peer = peer
        self.token = token
        self.settle = settle
        self.number = 0
        self.is_settled = False

    def expire(self) -> None:
        """Its answer is late."""
        if self.forget():
            address = self.peer.address
            self.mail.tell_late(self.settle, NoAnswer(f"{address} does not answer", address=address))

    def forget(self) -> bool:
        """Nobody waits for it any more; whether anybody did."""
        self.is_settled = True
        self.peer.caller.forget(self.number)
        return self.mail.open.pop(self.token, None) is not None


class Mail:
    """The queue of the dispatch thread; an event loop has one that is told of late answers in another way."""

    def __init__(self) -> None:
        self.replies: Final = Replies()
        self.open: Final[dict[int, Asked]] = {}
        self._tokens = itertools.count()

    def ask(self, peer: "Peer", request: OutgoingRequest, settle: Told) -> Asked:
        """Asks.

        Raises:
            ServerClosed: The client was closed.
        """
        token = next(self._tokens)
        # Before it is sent: the reply may be here before this thread goes on.
        asked = self.open[token] = Asked(self, peer, token, settle)
        try:
            asked.number = peer.caller.ask_into(self.replies, token, peer.connection, request)
        except BaseException:
            self.open.pop(token, None)
            raise
        return asked

    def deliver(self) -> None:
        """Settles the questions that have replies."""
        for token, reply in self.replies.take():
            asked = self.open.pop(token, None)
            if asked is None:
                continue
            asked.is_settled = True
            if type(reply) is Response:
                asked.settle(reply, None)
            else:
                asked.settle(None, asked.peer.lost(str(reply)))

    def tell_late(self, settle: Told, error: TransportError) -> None:
        """Tells of an answer that is late; on the dispatch thread."""
        settle(None, error)
