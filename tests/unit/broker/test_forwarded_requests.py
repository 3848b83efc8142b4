"""Requests that wait for clients: finished when all have replied, or will not, and never more than a few at a time."""

import math
from collections.abc import Mapping

from escrowmq.broker.forwarded_requests import QUESTIONS_MAX, ForwardedRequests
from escrowmq.broker.outcome import Forward, Notice, Reply, Silence
from escrowmq.errors import BadFrame
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode

NO_HEADER_HOLDS_IT = -1


class Peers:
    """Notes what is sent, and numbers it."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, int]] = []

    def send(
        self,
        connection: int,
        code: int,
        *,
        ext_fields: Mapping[str, str] | None = None,
        body: bytes | None = None,
        one_way: bool = True,
    ) -> int:
        assert (ext_fields, body, one_way) == ({}, None, False)
        if connection == NO_HEADER_HOLDS_IT:
            raise BadFrame("too long")
        self.sent.append((connection, code))
        return len(self.sent)

    def connect(self, address: str) -> int:
        raise NotImplementedError


def forward(*connections: int, wait_ms: int = 100) -> Forward:
    def finish(replies: object) -> Answer:
        assert isinstance(replies, list)
        return Answer(remark=", ".join(map(name, replies)))

    return Forward([Notice(connection, 307, {}) for connection in connections], finish, wait_ms)


def name(reply: Reply) -> str:
    return reply.name if isinstance(reply, Silence) else str(reply.remark)


def test_a_request_is_answered_when_its_client_has_replied() -> None:
    peers = Peers()
    table: ForwardedRequests[str] = ForwardedRequests(peers)
    assert table.begin("first", forward(5), now_ms=0) == []
    assert table.begin("second", forward(5), now_ms=0) == []
    assert peers.sent == [(5, 307), (5, 307)]
    assert table.answered(5, 2, Answer(remark="hello")) == [("second", Answer(remark="hello"))]
    assert table.answered(5, 2, Answer(remark="again")) == []
    assert table.answered(6, 1, Answer(remark="someone else")) == []
    assert table.answered(5, 1, Answer(remark="hello")) == [("first", Answer(remark="hello"))]
    assert table.next_deadline_ms() == math.inf


def test_several_clients_are_waited_for_and_their_replies_keep_their_order() -> None:
    table: ForwardedRequests[str] = ForwardedRequests(Peers())
    table.begin("all", forward(5, 6, 5), now_ms=0)
    assert table.answered(5, 3, Answer(remark="c")) == []
    assert table.answered(6, 2, Answer(remark="b")) == []
    assert table.closed(7) == []
    assert table.closed(5) == [("all", Answer(remark="GONE, b, c"))]


def test_a_client_that_takes_too_long_is_given_up() -> None:
    table: ForwardedRequests[str] = ForwardedRequests(Peers())
    table.begin("soon", forward(5, 5, wait_ms=10), now_ms=0)
    table.begin("later", forward(5, wait_ms=20), now_ms=0)
    assert table.next_deadline_ms() == 10
    assert table.expire(now_ms=9) == []
    assert table.expire(now_ms=10) == [("soon", Answer(remark="LATE, LATE"))]
    assert table.answered(5, 1, Answer(remark="too late")) == []
    assert table.expire(now_ms=20) == [("later", Answer(remark="LATE"))]


def test_nobody_to_ask_is_answered_at_once() -> None:
    table: ForwardedRequests[str] = ForwardedRequests(Peers())
    assert table.begin("nobody", forward(), now_ms=0) == [("nobody", Answer(remark=""))]


def test_too_many_questions_are_not_asked() -> None:
    peers = Peers()
    table: ForwardedRequests[int] = ForwardedRequests(peers)
    for number in range(QUESTIONS_MAX - 1):
        assert table.begin(number, forward(number), now_ms=0) == []
    ((asked, answer),) = table.begin(-1, forward(1, 2), now_ms=0)
    assert isinstance(answer, Answer)
    assert (asked, answer.code, len(peers.sent)) == (-1, ResponseCode.SYSTEM_BUSY, QUESTIONS_MAX - 1)
    assert table.begin(-2, forward(1), now_ms=0) == []


def test_a_question_that_cannot_be_sent_costs_its_asker_only() -> None:
    table: ForwardedRequests[str] = ForwardedRequests(Peers())
    refused = Answer(ResponseCode.SYSTEM_ERROR, "too long")
    assert table.begin("too long", forward(5, NO_HEADER_HOLDS_IT), now_ms=0) == [("too long", refused)]
    assert table.answered(5, 1, Answer(remark="nobody waits for it")) == []
    assert table.begin("other", forward(5), now_ms=0) == []


def test_a_fault_after_the_replies_costs_its_asker_only() -> None:
    def fail(_: object) -> Answer:
        raise OverflowError("too large")

    table: ForwardedRequests[str] = ForwardedRequests(Peers())
    table.begin("faulty", Forward([Notice(5, 307, {})], fail, 100), now_ms=0)
    table.begin("other", forward(5), now_ms=0)
    failed = Answer(ResponseCode.SYSTEM_ERROR, "OverflowError: too large")
    assert table.closed(5) == [("faulty", failed), ("other", Answer(remark="GONE"))]
