"""Requests that wait for what clients reply: who asked, which questions are open, and until when.

asker ── request ──▶ handler ── Forward ──▶ questions to clients ── replies, or silence ──▶ finish ──▶ answer
"""

import math
from collections.abc import Sequence
from typing import Final, Generic, TypeAlias, TypeVar

import structlog
from msgspec import Struct

from escrowmq.broker.outcome import Forward, Notice, Reply, Silence, WhenDurable
from escrowmq.broker.ports import Peers
from escrowmq.errors import EscrowError
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode

QUESTIONS_MAX: Final = 1_024
"""Questions without a reply; beyond, whoever needs another one is told that the broker is busy."""

Asked = TypeVar("Asked")
Finished: TypeAlias = Answer | WhenDurable
Ticket: TypeAlias = tuple[int, int]
"""A question to a client: its connection and its number."""

_log = structlog.get_logger()


class _Waiting(Struct, Generic[Asked]):
    asked: Asked
    forward: Forward
    tickets: list[Ticket]
    replies: dict[Ticket, Reply]
    deadline_ms: int


class ForwardedRequests(Generic[Asked]):
    """The table of open questions. Every method returns the requests that can be answered now, with their answers."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._open: dict[Ticket, _Waiting[Asked]] = {}

    def begin(self, asked: Asked, forward: Forward, *, now_ms: int) -> list[tuple[Asked, Finished]]:
        """Asks the clients."""
        if len(self._open) + len(forward.questions) > QUESTIONS_MAX:
            return [(asked, Answer(ResponseCode.SYSTEM_BUSY, "too many requests wait for clients to reply"))]
        try:
            tickets = [(question.connection, self._ask(question)) for question in forward.questions]
        except EscrowError as error:
            # What an asker wants to be passed on may be more than a header holds.
            _log.warning("a request was not forwarded", reason=str(error))
            return [(asked, Answer(ResponseCode.SYSTEM_ERROR, str(error)))]
        waiting = _Waiting(asked, forward, tickets, {}, now_ms + forward.wait_ms)
        self._open.update(dict.fromkeys(tickets, waiting))
        return self._finished([waiting])

    def answered(self, connection: int, opaque: int, reply: Answer) -> list[tuple[Asked, Finished]]:
        """A client has replied, be it to a question of ours or not."""
        return self._settle([(connection, opaque)], reply)

    def closed(self, connection: int) -> list[tuple[Asked, Finished]]:
        """A client is gone."""
        return self._settle([ticket for ticket in self._open if ticket[0] == connection], Silence.GONE)

    def expire(self, *, now_ms: int) -> list[tuple[Asked, Finished]]:
        """Gives up on clients that take too long."""
        late = [ticket for ticket, waiting in self._open.items() if waiting.deadline_ms <= now_ms]
        return self._settle(late, Silence.LATE)

    def next_deadline_ms(self) -> float:
        """Until when the first of them waits; infinity if none does."""
        return min((waiting.deadline_ms for waiting in self._open.values()), default=math.inf)

    def _ask(self, question: Notice) -> int:
        return self._peers.send(
            question.connection,
            question.code,
            ext_fields=question.ext_fields,
            body=question.body or None,
            one_way=False,
        )

    def _settle(self, tickets: Sequence[Ticket], reply: Reply) -> list[tuple[Asked, Finished]]:
        settled = []
        for ticket in tickets:
            waiting = self._open.pop(ticket, None)
            if waiting is not None:
                waiting.replies[ticket] = reply
                settled.append(waiting)
        return self._finished(settled)

    @staticmethod
    def _finished(settled: Sequence[_Waiting[Asked]]) -> list[tuple[Asked, Finished]]:
        """Those without an open question; one that got several of its replies at once is finished once."""
        finished = []
        for waiting in {id(waiting): waiting for waiting in settled}.values():
            if len(waiting.replies) == len(waiting.tickets):
                replies = [waiting.replies[ticket] for ticket in waiting.tickets]
                finished.append((waiting.asked, _answer(waiting.forward, replies)))
        return finished


def _answer(forward: Forward, replies: Sequence[Reply]) -> Finished:
    try:
        return forward.finish(replies)
    except Exception as error:  # noqa: BLE001 - a fault in one request must not cost the others
        _log.error("a forwarded request failed", exc_info=error)
        return Answer(ResponseCode.SYSTEM_ERROR, f"{type(error).__name__}: {error}")
