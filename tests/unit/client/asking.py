"""What tests of the client ask a broker, and how they wait."""

import time
from collections.abc import Callable

from escrowmq.admin.client import Admin
from escrowmq.client import Client
from escrowmq.errors import Refused
from escrowmq.protocol.headers.get_producer_connections import GetProducerConnections
from escrowmq.protocol.question import Question
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.testing import LocalBroker

PATIENCE_S = 10.0


def producers(broker: LocalBroker, group: str) -> bytes:
    question = Question(RequestCode.GET_PRODUCER_CONNECTION_LIST, GetProducerConnections(group))
    with Admin([broker.name_server]) as admin:
        try:
            return bytes(admin.ask(broker.address, question).body)
        except Refused:
            return b""


def wait_until(is_so: Callable[[], bool]) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < until_s, "it does not come true"
        time.sleep(0.005)


def is_known(broker: LocalBroker, group: str, client: Client) -> bool:
    """Whether the broker knows that the client has a producer of the group."""
    return client.client_id.encode() in producers(broker, group)
