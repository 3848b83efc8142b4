"""Bad days: name servers that lie, brokers that vanish or are full, and what a producer says then."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import msgspec
import pytest

from escrowmq import Answer, Message, Request, Server
from escrowmq.client import ClientOptions, Producer, ProducerOptions
from escrowmq.errors import BadBody, EscrowError, NoQueue, NotReachable, Refused, SendFailed, ServerClosed
from escrowmq.model.route import BrokerData, QueueData, TopicRouteData
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.testing import LocalBroker

SHORT = ClientOptions(ask_timeout_s=0.5, connect_timeout_s=0.5)
DEAD = "127.0.0.1:1"


@contextmanager
def answering(answer: Callable[[Request], Answer | None]) -> Iterator[str]:
    """A server that answers every request as it is told; None is silence."""
    with Server.start(["127.0.0.1:0"]) as server:

        def run() -> None:
            with suppress(ServerClosed):
                while True:
                    events = server.next_batch()
                    requests = [event for event in events if isinstance(event, Request) and not event.is_one_way]
                    answers = [(request, answer(request)) for request in requests]
                    server.answer([(request, found) for request, found in answers if found is not None])

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield server.addresses[0]
        finally:
            server.close()
            thread.join()


@contextmanager
def babbling(said: bytes) -> Iterator[str]:
    """A server that says the same bytes to everybody."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                with peer:
                    peer.sendall(said)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def route(address: str, *, permissions: int = 6) -> bytes:
    """A route to one broker."""
    queues = QueueData("broker-a", permissions, 4, 0, 4)
    broker = BrokerData({0: address}, "broker-a", "DefaultCluster", may_act_as_master=False)
    return msgspec.json.encode(TopicRouteData(brokers=[broker], filter_servers={}, queues=[queues]))


def failure_of(name_server: str, *, options: ProducerOptions | None = None) -> EscrowError:
    """What a send comes to; no thread is left afterwards."""
    before = set(threading.enumerate())
    with (
        Producer(
            name_server, group="billing", options=options or ProducerOptions(send_timeout_s=1), client_options=SHORT
        ) as producer,
        pytest.raises(EscrowError) as failure,
    ):
        producer.send(Message("orders", b"paid"))
    assert set(threading.enumerate()) <= before
    return failure.value


@pytest.mark.parametrize("said", [b"HTTP/1.1 200 OK\r\n\r\n", b"\x00" * 64, b"\xff" * 64, b""])
def test_a_name_server_that_babbles_is_no_name_server(said: bytes) -> None:
    with babbling(said) as address:
        failure = failure_of(address)
    assert isinstance(failure, NotReachable)
    assert address in str(failure)


@pytest.mark.parametrize("body", [b"", b"nonsense", b"[]", b'{"brokerDatas":7}', b'{"brokerDatas":[{}]}'])
def test_a_route_that_is_none_is_said_to_be_none(body: bytes) -> None:
    with answering(lambda _: Answer(0, body=body)) as address:
        failure = failure_of(address)
    assert isinstance(failure, BadBody)
    assert address in str(failure)


def test_another_name_server_is_asked_where_one_lies(escrowmq_broker: LocalBroker) -> None:
    with (
        answering(lambda _: Answer(0, body=b"nonsense")) as liar,
        Producer(f"{liar};{escrowmq_broker.name_server}", group="billing", client_options=SHORT) as producer,
    ):
        producer.send(Message("orders", b"paid"))
    assert len(escrowmq_broker.messages("orders")) == 1


def test_a_name_server_that_refuses_says_why() -> None:
    with answering(lambda _: Answer(ResponseCode.SYSTEM_ERROR, "no mood")) as address:
        failure = failure_of(address)
    assert isinstance(failure, Refused)
    assert failure.remark == "no mood"


def test_a_route_to_a_dead_broker_is_tried_and_given_up() -> None:
    with answering(lambda _: Answer(0, body=route(DEAD))) as address:
        failure = failure_of(address)
    assert isinstance(failure, SendFailed)
    assert failure.tries == 3
    assert all(DEAD in reason for reason in failure.reasons)


@pytest.mark.parametrize(
    "body", [route(DEAD, permissions=4), b'{"brokerDatas":[],"filterServerTable":{},"queueDatas":[]}']
)
def test_a_topic_without_a_queue_to_write_to_is_said_to_have_none(body: bytes) -> None:
    with answering(lambda _: Answer(0, body=body)) as address:
        assert isinstance(failure_of(address), NoQueue)


def test_a_broker_that_is_silent_costs_no_more_time_than_there_is() -> None:
    with answering(lambda _: None) as silent, answering(lambda _: Answer(0, body=route(silent))) as address:
        began_s = time.monotonic()
        failure = failure_of(address, options=ProducerOptions(send_timeout_s=0.2))
    assert isinstance(failure, SendFailed)
    assert time.monotonic() - began_s < 5


@pytest.mark.parametrize(
    ("code", "kind", "tries"),
    [
        (ResponseCode.SERVICE_NOT_AVAILABLE, SendFailed, 3),
        (ResponseCode.SYSTEM_BUSY, SendFailed, 3),
        (ResponseCode.MESSAGE_ILLEGAL, Refused, 1),
    ],
)
def test_what_a_broker_refuses_is_tried_again_where_that_may_help(
    code: ResponseCode, kind: type[EscrowError], tries: int
) -> None:
    sends: list[Request] = []

    def refuse(request: Request) -> Answer:
        if request.code == 310:
            sends.append(request)
        return Answer(code, "the disk is full")

    with answering(refuse) as broker, answering(lambda _: Answer(0, body=route(broker))) as address:
        failure = failure_of(address)
    assert isinstance(failure, kind)
    assert "the disk is full" in str(failure)
    assert len(sends) == tries
    assert len({request.ext_fields["i"] for request in sends}) == 1


def test_a_selector_that_raises_costs_its_own_send_only(escrowmq_broker: LocalBroker) -> None:
    with Producer(escrowmq_broker.name_server, group="billing") as producer:
        with pytest.raises(ZeroDivisionError):
            producer.send(Message("orders", b"paid"), selector=lambda *_: 1 // 0)  # type: ignore[arg-type]
        producer.send(Message("orders", b"paid"))
    assert len(escrowmq_broker.messages("orders")) == 1
