"""Faults of a broker's own, outside its handlers: whoever asked is told, and everybody else is served."""

from collections.abc import Iterator
from unittest.mock import patch

import pytest
from tests.compat.broker_process import Client

from escrowmq.broker.context import Context
from escrowmq.broker.snapshot import Snapshots
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.testing import LocalBroker


@pytest.fixture
def broker() -> Iterator[LocalBroker]:
    with LocalBroker() as broker:
        yield broker


def asks(client: Client) -> tuple[int, str | None]:
    answer = client.ask(RequestCode.GET_ALL_TOPIC_CONFIG)
    return answer.code, answer.remark


def test_a_fault_after_the_handlers_is_answered(broker: LocalBroker) -> None:
    with Client(broker.address) as client:
        with patch.object(Snapshots, "publish", side_effect=KeyError("lost")):
            assert asks(client) == (ResponseCode.SYSTEM_ERROR, "KeyError: 'lost'")
        assert asks(client) == (ResponseCode.SUCCESS, None)


def test_a_fault_at_the_end_of_a_connection_costs_no_other(broker: LocalBroker) -> None:
    with Client(broker.address) as other, patch.object(Context, "close_client", side_effect=KeyError("lost")) as fault:
        with Client(broker.address) as client:
            assert asks(client) == (ResponseCode.SUCCESS, None)
        while not fault.called:
            asks(other)
        assert asks(other) == (ResponseCode.SUCCESS, None)
