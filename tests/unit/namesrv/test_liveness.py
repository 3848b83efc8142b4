"""A broker is gone, its topics with it, when it is silent for too long or its connection is gone."""

import pytest
from tests.golden.name_server_conversation import DATA_VERSION, HEARTBEAT, REGISTER, ROUTE, TOPICS, broker, table
from tests.unit.namesrv.desk import Desk

from escrowmq.protocol.response_codes import ResponseCode


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    assert desk.ask(REGISTER, broker(), table(*TOPICS), connection=3).code == ResponseCode.SUCCESS
    return desk


def has_route(desk: Desk) -> bool:
    return desk.ask(ROUTE, {"topic": "orders"}).code == ResponseCode.SUCCESS


def test_a_broker_is_gone_after_two_minutes_of_silence(desk: Desk) -> None:
    """Looks are at 5, 15, 25 ... seconds: at 115 the broker is in time, at 125 it is not."""
    desk.wait(124_999)
    assert has_route(desk)
    desk.wait(1)
    assert not has_route(desk)
    ((gone, reason),) = desk.gone
    assert (gone.broker_name, reason) == ("broker-a", "silent")


def test_a_broker_may_ask_for_less_patience() -> None:
    desk = Desk()
    desk.ask(REGISTER, broker(heartbeatTimeoutMillis="1000"), table(*TOPICS))
    desk.wait(4_999)
    assert has_route(desk)
    desk.wait(1)
    assert not has_route(desk)


@pytest.mark.parametrize("code", [REGISTER, DATA_VERSION, HEARTBEAT])
def test_a_sign_of_life_gives_two_more_minutes(desk: Desk, code: int) -> None:
    for _ in range(5):
        desk.wait(100_000)
        body = table(*TOPICS) if code == REGISTER else b""
        assert desk.ask(code, broker(), body, connection=3).code == ResponseCode.SUCCESS
    assert has_route(desk)
    desk.wait(131_000)
    assert not has_route(desk)


def test_a_sign_of_life_from_another_cluster_is_none(desk: Desk) -> None:
    desk.wait(100_000)
    desk.ask(HEARTBEAT, broker(clusterName="C2"))
    desk.wait(31_000)
    assert not has_route(desk)


@pytest.mark.parametrize("reason", ["peer", "idle", "failed"])
def test_a_broker_is_gone_with_its_connection(desk: Desk, reason: str) -> None:
    desk.liveness.connection_closed(2, reason)
    assert has_route(desk)
    desk.liveness.connection_closed(3, reason)
    assert not has_route(desk)
    assert desk.routes.live == {}


def test_a_broker_that_came_back_by_another_connection_stays(desk: Desk) -> None:
    desk.ask(REGISTER, broker(), table(*TOPICS), connection=4)
    desk.liveness.connection_closed(3, "peer")
    assert has_route(desk)


def test_a_late_look_does_not_put_off_the_next(desk: Desk) -> None:
    desk.liveness.scan(29_000)
    assert desk.liveness.wait_ms(29_000) == 6_000
