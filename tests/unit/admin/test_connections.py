"""Questions to servers: answers in their order, and what becomes of those that nobody answers."""

from collections.abc import Iterator

import pytest
from tests.unit.server.peer import echo, fetch_requests

from escrowmq import Answer, Response, Server
from escrowmq.admin.client import expect, judge
from escrowmq.admin.connections import Connections, Reply
from escrowmq.errors import NoAnswer, NotReachable, Refused
from escrowmq.protocol.headers.get_topic_stats import GetTopicStats
from escrowmq.protocol.question import Question
from escrowmq.protocol.response_codes import ResponseCode

QUESTION = Question(1, GetTopicStats("orders"), b"body")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server.start(["127.0.0.1:0"]) as started:
        yield started


@pytest.fixture
def connections() -> Iterator[Connections]:
    with Connections(patience_s=0.2) as opened:
        yield opened


def code_of(reply: Reply) -> int:
    assert isinstance(reply, Response)
    return reply.code


def test_a_question_arrives_as_it_is(server: Server, connections: Connections) -> None:
    number = connections.begin(server.addresses[0], QUESTION)
    (request,) = fetch_requests(server, 1)
    assert (request.code, request.ext_fields, bytes(request.body)) == (1, {"topic": "orders"}, b"body")
    assert request.language == "PYTHON"
    server.answer([echo(request)])
    assert code_of(connections.replies([number])[0]) == ResponseCode.SUCCESS


def test_answers_come_in_the_order_of_the_questions_on_one_connection(server: Server, connections: Connections) -> None:
    numbers = [connections.begin(server.addresses[0], Question(code)) for code in (1, 2, 3)]
    requests = fetch_requests(server, 3)
    assert len({request.connection for request in requests}) == 1
    server.answer([(request, Answer(request.code)) for request in reversed(requests)])
    assert [code_of(reply) for reply in connections.replies(numbers)] == [1, 2, 3]


def test_the_first_answers_are_had_while_others_are_open(server: Server, connections: Connections) -> None:
    first, second = (connections.begin(server.addresses[0], Question(code)) for code in (1, 2))
    one, other = fetch_requests(server, 2)
    server.answer([echo(other)])
    assert list(connections.first_replies([first, second], patience_s=20)) == [second]
    server.answer([echo(one)])
    assert list(connections.first_replies([first], patience_s=20)) == [first]


def test_silence_is_no_answer_and_what_comes_late_is_nobodys(server: Server, connections: Connections) -> None:
    address = server.addresses[0]
    (late,) = connections.replies([connections.begin(address, QUESTION)])
    assert isinstance(late, NoAnswer)
    assert (str(late), late.address) == (f"{address} does not answer", address)
    server.answer([echo(request) for request in fetch_requests(server, 1)])
    number = connections.begin(address, Question(2))
    (request,) = fetch_requests(server, 1)
    server.answer([(request, Answer(2))])
    assert code_of(connections.replies([number])[0]) == 2


def test_a_connection_that_ends_answers_what_is_open_and_the_next_question_has_a_new_one(
    server: Server, connections: Connections
) -> None:
    number = connections.begin(server.addresses[0], QUESTION)
    (request,) = fetch_requests(server, 1)
    server.close_connection(request.connection)
    (reply,) = connections.replies([number])
    assert isinstance(reply, NotReachable)
    assert "closes the connection instead of answering" in str(reply)
    number = connections.begin(server.addresses[0], QUESTION)
    (again,) = fetch_requests(server, 1)
    assert again.connection != request.connection
    server.answer([echo(again)])
    assert code_of(connections.replies([number])[0]) == ResponseCode.SUCCESS


def test_who_is_not_there_can_not_be_reached(connections: Connections) -> None:
    for address in ("127.0.0.1:1", "[::1]:1"):
        with pytest.raises(NotReachable, match="can't be reached"):
            connections.ask(address, QUESTION)
    with pytest.raises(NotReachable, match="is nowhere"):
        connections.ask("no-such-host.invalid:9876", QUESTION)


def test_an_address_that_nobody_knows_costs_its_own_question_only(server: Server, connections: Connections) -> None:
    lost = connections.begin("no-such-host.invalid:9876", QUESTION)
    number = connections.begin(server.addresses[0], QUESTION)
    server.answer([echo(request) for request in fetch_requests(server, 1)])
    nobody, somebody = connections.replies([lost, number])
    assert isinstance(nobody, NotReachable)
    assert code_of(somebody) == ResponseCode.SUCCESS


def test_a_refusal_says_who_what_and_why(server: Server, connections: Connections) -> None:
    number = connections.begin(server.addresses[0], Question(17))
    (request,) = fetch_requests(server, 1)
    server.answer([(request, Answer(16, remark="The topic is sealed.\nSee https://example.org"))])
    (reply,) = connections.replies([number])
    with pytest.raises(Refused) as refused:
        expect(judge(server.addresses[0], Question(17), reply))
    assert str(refused.value) == (
        f"{server.addresses[0]} refuses UPDATE_AND_CREATE_TOPIC: The topic is sealed (NO_PERMISSION, 16)"
    )
    assert (refused.value.code, refused.value.remark) == (16, "The topic is sealed")
    unknown = judge("a:1", Question(99_999), reply)
    assert "refuses code 99999" in str(unknown)
