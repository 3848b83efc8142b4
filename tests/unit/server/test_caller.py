"""A server that asks others: who sleeps is woken by the answer, and who has a queue finds it there."""

import select
import threading
from collections.abc import Iterator

import pytest
from tests.unit.server.peer import PATIENCE_S

from escrowmq import (
    Answer,
    Caller,
    Message,
    OutgoingMessage,
    OutgoingRequest,
    Replies,
    Request,
    Response,
    Server,
)
from escrowmq.errors import ServerClosed, Unsendable

QUESTION = OutgoingRequest(105, ext_fields={"topic": "orders"}, body=b"asked", remark="why")


class Peer:
    """A server that keeps what it is asked until it is told to answer."""

    def __init__(self) -> None:
        self.server = Server.start(["127.0.0.1:0"])

    def request(self) -> Request:
        while True:
            for event in self.server.next_batch(count_max=1, timeout_s=PATIENCE_S):
                if isinstance(event, Request):
                    return event

    def answer_all(self) -> None:
        """Answers until it is closed."""
        while True:
            try:
                request = self.request()
            except ServerClosed:
                return
            self.server.answer([(request, Answer(7, request.remark, body=bytes(request.body)))])


@pytest.fixture
def peer() -> Iterator[Peer]:
    made = Peer()
    with made.server:
        yield made


@pytest.fixture
def caller() -> Iterator[Caller]:
    with Caller.start() as started:
        yield started


def connect(caller: Caller, peer: Peer) -> int:
    return caller.connect(peer.server.addresses[0])


def test_who_sleeps_is_woken_by_the_answer(caller: Caller, peer: Peer) -> None:
    thread = threading.Thread(target=peer.answer_all)
    thread.start()
    connection = connect(caller, peer)
    answer = caller.ask(connection, QUESTION, PATIENCE_S)
    assert isinstance(answer, Response)
    assert (answer.code, answer.remark, bytes(answer.body)) == (7, "why", b"asked")
    peer.server.close()
    thread.join()


def test_nobody_sleeps_longer_than_he_may(caller: Caller, peer: Peer) -> None:
    connection = connect(caller, peer)
    assert caller.ask(connection, QUESTION, 0.01) is None
    request = peer.request()
    peer.server.answer([(request, Answer(0))])


def test_the_end_of_a_connection_wakes_who_waits_for_it(caller: Caller, peer: Peer) -> None:
    connection = connect(caller, peer)
    replies = Replies()
    caller.ask_into(replies, 3, connection, QUESTION)
    peer.request()
    peer.server.close()
    assert select.select([replies], [], [], PATIENCE_S)[0]
    assert replies.take() == [(3, "peer")]
    assert caller.ask(connection, QUESTION, PATIENCE_S) == "ended"


def test_a_server_that_is_not_there_is_said_to_be_none(caller: Caller) -> None:
    assert caller.ask(caller.connect("127.0.0.1:1"), QUESTION, PATIENCE_S) == "connect_failed"


def test_replies_wait_in_a_queue_and_what_is_forgotten_does_not_come(caller: Caller, peer: Peer) -> None:
    connection, replies = connect(caller, peer), Replies()
    numbers = [caller.ask_into(replies, token, connection, QUESTION) for token in range(3)]
    requests = [peer.request() for _ in numbers]
    assert caller.forget(numbers[1])
    assert not caller.forget(numbers[1])
    peer.server.answer([(request, Answer(request.opaque % 100)) for request in requests])
    found: dict[int, int] = {}
    while len(found) < 2:
        assert select.select([replies], [], [], PATIENCE_S)[0]
        found |= {token: reply.code for token, reply in replies.take() if isinstance(reply, Response)}
    assert found == {0: numbers[0] % 100, 2: numbers[2] % 100}
    assert not select.select([replies], [], [], 0)[0]


def test_what_is_open_ends_with_the_caller(peer: Peer) -> None:
    caller, replies = Caller.start(), Replies()
    connection = connect(caller, peer)
    caller.ask_into(replies, 1, connection, QUESTION)
    peer.request()
    caller.close()
    assert select.select([replies], [], [], PATIENCE_S)[0]
    assert replies.take() == [(1, "shutdown")]
    with pytest.raises(ServerClosed):
        caller.connect("127.0.0.1:1")


def test_a_message_is_sent_to_the_queue_that_is_chosen(caller: Caller, peer: Peer) -> None:
    message = Message("orders", b"paid", tags="t", properties={"DELAY": "3"})
    outgoing = OutgoingMessage(message, group="g", message_id="ID", size_max_bytes=4, properties={"a": "b"})
    caller.tell(connect(caller, peer), outgoing.request(2, "broker-a"))
    request = peer.request()
    fields = request.ext_fields
    assert (request.code, request.is_one_way, request.header_kind, request.language) == (310, True, "binary", "PYTHON")
    assert (fields["a"], fields["b"], fields["e"], fields["n"], fields["m"]) == (
        "g",
        "orders",
        "2",
        "broker-a",
        "false",
    )
    assert fields["i"] == "WAIT\x01true\x02DELAY\x013\x02TAGS\x01t\x02a\x01b\x02UNIQ_KEY\x01ID\x02"
    assert bytes(request.body) == b"paid"
    assert (outgoing.message_id, outgoing.topic) == ("ID", "orders")


def test_a_half_message_is_marked_and_never_for_later(caller: Caller, peer: Peer) -> None:
    message = Message("orders", b"paid", properties={"DELAY": "3", "UNIQ_KEY": "own", "TIMER_DELAY_MS": "9"})
    outgoing = OutgoingMessage(message, group="g", message_id="ID", size_max_bytes=4, is_prepared=True)
    assert outgoing.message_id == "own"
    caller.tell(connect(caller, peer), outgoing.request(0, "b"))
    fields = peer.request().ext_fields
    assert (fields["i"], fields["f"]) == ("WAIT\x01true\x02UNIQ_KEY\x01own\x02", "4")


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(Unsendable, match="body of 5 bytes, at most 4 are allowed") as failure:
        OutgoingMessage(Message("orders", b"12345"), group="g", message_id="i", size_max_bytes=4)
    assert (failure.value.field, failure.value.found, failure.value.limit) == ("body", 5, 4)
    crowded = Message("orders", b"", properties={"p": "v" * 40_000})
    with pytest.raises(Unsendable, match="properties"):
        OutgoingMessage(crowded, group="g", message_id="i", size_max_bytes=4)
    with pytest.raises(Unsendable, match="messages"):
        OutgoingMessage.batch([Message("orders", b"1")] * 2, group="g", message_ids=["i", "j"], size_max_bytes=40)
    with pytest.raises(ValueError, match="as many ids"):
        OutgoingMessage.batch([], group="g", message_ids=[], size_max_bytes=40)
