"""Questions to servers and their answers: one connection to each address, and as many questions at a time as wanted.

It is a `Server` that listens nowhere: what it connects to, it may ask.
"""

import itertools
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self, TypeAlias

from escrowmq._core import ConnectionClosed, Response, Server
from escrowmq.errors import NoAnswer, NotReachable, TransportError
from escrowmq.protocol.addresses import look_up
from escrowmq.protocol.headers.encoding import encode_header
from escrowmq.protocol.question import Question

PATIENCE_S: Final = 5.0
_NOBODY_THERE: Final = "connect_failed"


Reply: TypeAlias = Response | TransportError
"""What comes of a question: an answer, or why there is none."""


class Connections:
    """Use it as a context manager."""

    def __init__(self, *, patience_s: float = PATIENCE_S) -> None:
        self._peers = Server.start([])
        self._patience_s = patience_s
        self._connections: dict[str, int] = {}
        # Why connections ended.
        self._ended: dict[int, str] = {}
        # Where each open question went: address and connection.
        self._asked: dict[int, tuple[str, int]] = {}
        self._answered: dict[int, Response] = {}
        # Questions to addresses that nobody knows, by numbers that no server gets.
        self._failed: dict[int, NotReachable] = {}
        self._failures = itertools.count(-1, -1)

    def begin(self, address: str, question: Question) -> int:
        """Asks, and returns the number of the question."""
        try:
            connection = self._connect(address)
        except NotReachable as error:
            number = next(self._failures)
            self._failed[number] = error
            return number
        fields = None if question.header is None else encode_header(question.header)
        number = self._peers.send(
            connection,
            question.code,
            ext_fields=fields,
            body=question.body,
            one_way=False,
            remark=question.remark,
            language="PYTHON",
        )
        self._asked[number] = (address, connection)
        return number

    def replies(self, numbers: Sequence[int]) -> list[Reply]:
        """Waits for all these questions; what came of them, in their order."""
        self._wait(lambda: all(map(self._is_settled, numbers)), patience_s=self._patience_s)
        return [self._take(number) for number in numbers]

    def first_replies(self, numbers: Sequence[int], *, patience_s: float) -> dict[int, Reply]:
        """Waits until any of these questions is settled; what came of those that are. All are, if nothing comes."""
        self._wait(lambda: any(map(self._is_settled, numbers)), patience_s=patience_s)
        settled = [number for number in numbers if self._is_settled(number)]
        return {number: self._take(number) for number in settled or numbers}

    def ask(self, address: str, question: Question) -> Response:
        """Asks, and waits for the answer.

        Raises:
            NotReachable: There is nobody, or the connection ends before.
            NoAnswer: It does not come in time.
        """
        (reply,) = self.replies([self.begin(address, question)])
        if isinstance(reply, TransportError):
            raise reply
        return reply

    def close(self) -> None:
        """Closes all connections."""
        self._peers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _connect(self, address: str) -> int:
        """The connection to an address; a new one where there is none any more."""
        connection = self._connections.get(address)
        if connection is None or connection in self._ended:
            connection = self._connections[address] = self._peers.connect(look_up(address))
        return connection

    def _is_settled(self, number: int) -> bool:
        return number in self._failed or number in self._answered or self._asked[number][1] in self._ended

    def _wait(self, is_done: Callable[[], bool], *, patience_s: float) -> None:
        """Waits while anything comes at all: whoever asks much has to wait longer, but not for silence."""
        while not is_done():
            events = self._peers.next_batch(timeout_s=patience_s)
            if not events:
                return
            for event in events:
                if isinstance(event, Response) and event.opaque in self._asked:
                    self._answered[event.opaque] = event
                elif isinstance(event, ConnectionClosed):
                    self._ended[event.connection] = event.reason

    def _take(self, number: int) -> Reply:
        if number in self._failed:
            return self._failed.pop(number)
        address, connection = self._asked.pop(number)
        answer = self._answered.pop(number, None)
        if answer is not None:
            return answer
        if connection in self._ended:
            is_missing = self._ended[connection] == _NOBODY_THERE
            what = "can't be reached" if is_missing else "closes the connection instead of answering"
            return NotReachable(f"{address} {what}", address=address)
        return NoAnswer(f"{address} does not answer", address=address)
