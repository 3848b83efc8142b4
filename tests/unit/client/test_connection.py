"""The client: three ways to carry an operation out, routes, heartbeats, requests of brokers, and what is left of it."""

import asyncio
import os
import threading
from collections.abc import Iterator

import pytest
from tests.unit.client.asking import PATIENCE_S, producers, wait_until

from escrowmq import Response
from escrowmq.admin import requests
from escrowmq.client import Client, ClientOptions
from escrowmq.client.operation import Operation, Outcome
from escrowmq.errors import ConfigError, NoAnswer, NotReachable, NotThere, ServerClosed
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.testing import LocalBroker


@pytest.fixture
def client(escrowmq_broker: LocalBroker) -> Iterator[Client]:
    escrowmq_broker.create_topic("orders")
    opened = Client(escrowmq_broker.name_server)
    yield opened
    opened.close()


def send(client: Client, broker: LocalBroker) -> Operation[Response]:
    question = requests.send("orders", b"paid", group="billing", properties={"TAGS": "t"})
    return client.ask(broker.address, question, timeout_s=PATIENCE_S)


def test_one_operation_runs_blocking_under_asyncio_and_in_the_background(
    client: Client, escrowmq_broker: LocalBroker
) -> None:
    outcomes: list[Outcome[Response]] = []
    assert client.run(send(client, escrowmq_broker)).code == 0
    assert asyncio.run(client.run_async(send(client, escrowmq_broker))).code == 0
    client.begin(send(client, escrowmq_broker), outcomes.append)
    wait_until(lambda: bool(outcomes))
    assert outcomes[0].get().code == 0
    assert len(escrowmq_broker.messages("orders")) == 3


def test_many_threads_ask_at_a_time(client: Client, escrowmq_broker: LocalBroker) -> None:
    def work() -> None:
        for _ in range(20):
            client.run(send(client, escrowmq_broker))

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(escrowmq_broker.messages("orders")) == 320


def test_a_route_says_where_the_queues_are(client: Client, escrowmq_broker: LocalBroker) -> None:
    route = client.run(client.route("orders"))
    assert [queue.queue_id for queue in route.writable] == [0, 1, 2, 3]
    assert client.broker_address(route.writable[0].broker_name) == escrowmq_broker.address


def test_a_topic_that_nobody_knows_is_not_there(client: Client) -> None:
    with pytest.raises(NotThere, match="there is no topic 'nowhere'"):
        client.run(client.route("nowhere"))


def test_an_answer_that_does_not_come_is_waited_for_so_long(client: Client, escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.drop_next_answer(RequestCode.SEND_MESSAGE_V2)
    question = requests.send("orders", b"paid", group="billing", properties={})
    with pytest.raises(NoAnswer):
        client.run(client.ask(escrowmq_broker.address, question, timeout_s=0.05))
    assert client.run(send(client, escrowmq_broker)).code == 0


def test_an_operation_as_a_whole_may_take_so_long(client: Client, escrowmq_broker: LocalBroker) -> None:
    for _ in range(2):
        escrowmq_broker.drop_next_answer(RequestCode.SEND_MESSAGE_V2)
    with pytest.raises(NoAnswer, match=r"within 0.05 s"):
        client.run(send(client, escrowmq_broker), timeout_s=0.05)


def test_a_broker_that_vanishes_is_not_waited_for(client: Client, escrowmq_broker: LocalBroker) -> None:
    client.run(send(client, escrowmq_broker))
    escrowmq_broker.kill()
    with pytest.raises(NotReachable):
        client.run(send(client, escrowmq_broker))
    escrowmq_broker.reopen()
    assert client.run(send(client, escrowmq_broker)).code == 0


def test_brokers_hear_of_a_producer_at_once_and_when_it_stops(client: Client, escrowmq_broker: LocalBroker) -> None:
    registration = client.register_producer("billing", lambda: ["orders"])
    wait_until(lambda: client.client_id.encode() in producers(escrowmq_broker, "billing"))
    registration.close()
    assert producers(escrowmq_broker, "billing") == b""


def test_brokers_hear_of_a_producer_again_after_they_were_gone(client: Client, escrowmq_broker: LocalBroker) -> None:
    client.register_producer("billing", lambda: ["orders"])
    wait_until(lambda: producers(escrowmq_broker, "billing") != b"")
    escrowmq_broker.kill()
    escrowmq_broker.reopen()
    wait_until(lambda: client.client_id.encode() in producers(escrowmq_broker, "billing"))


def test_functions_that_block_run_on_workers(client: Client) -> None:
    names = client.run(client.offload(lambda: threading.current_thread().name))
    assert names.startswith("escrowmq-client-worker")
    with pytest.raises(ZeroDivisionError):
        client.run(client.offload(lambda: 1 // 0))


def test_a_task_is_done_later_unless_it_is_taken_back(client: Client) -> None:
    done: list[str] = []
    client.later(0.01, lambda: done.append("first"))
    client.later(0.005, lambda: done.append("never"))()
    client.later(0.02, lambda: done.append("second"))
    wait_until(lambda: "second" in done)
    assert done == ["first", "second"]


def test_no_thread_is_left_after_close(escrowmq_broker: LocalBroker) -> None:
    before = set(threading.enumerate())
    client = Client(escrowmq_broker.name_server)
    client.run(client.offload(lambda: None))
    assert set(threading.enumerate()) != before
    client.close()
    assert set(threading.enumerate()) == before
    with pytest.raises(ServerClosed):
        client.run(client.route("orders"))


def test_what_is_open_fails_when_the_client_is_closed(client: Client, escrowmq_broker: LocalBroker) -> None:
    outcomes: list[Outcome[Response]] = []
    client.run(send(client, escrowmq_broker))
    escrowmq_broker.drop_next_answer(RequestCode.SEND_MESSAGE_V2)
    client.begin(send(client, escrowmq_broker), outcomes.append)
    wait_until(lambda: len(escrowmq_broker.messages("orders")) == 2)
    client.close()
    assert isinstance(outcomes[0].error, ServerClosed)


def test_a_child_process_has_an_id_and_connections_of_its_own(client: Client, escrowmq_broker: LocalBroker) -> None:
    client.run(send(client, escrowmq_broker))
    child = os.fork()
    if child == 0:
        is_good = False
        try:
            parents_id = client.client_id
            is_good = client.run(send(client, escrowmq_broker)).code == 0 and str(os.getpid()) in parents_id
            client.close()
        finally:
            os._exit(0 if is_good else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert client.run(send(client, escrowmq_broker)).code == 0
    assert len(escrowmq_broker.messages("orders")) == 3


@pytest.mark.parametrize("addresses", ["", "nowhere", ["127.0.0.1:"]])
def test_an_address_that_is_none_is_refused(addresses: str | list[str]) -> None:
    with pytest.raises(ConfigError):
        Client(addresses, options=ClientOptions())
