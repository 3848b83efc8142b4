"""What becomes of requests, whatever they are."""

import time

import pytest
from tests.golden.name_server_conversation import (
    ALL_TOPICS,
    CLUSTER_TOPICS,
    REGISTER,
    ROUTE,
    TOPICS,
    broker,
    table,
    topic,
)
from tests.unit.namesrv.desk import Desk, fastjson_value

from escrowmq.config import NameServerConfig, decode_properties
from escrowmq.namesrv import processors
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode


@pytest.mark.parametrize("code", [-1, 0, 10, 34, 99_999])
def test_a_request_that_nobody_knows_is_said_to_be_unknown(code: int) -> None:
    answer = Desk().ask(code)
    assert answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert answer.remark == f" request type {code} not supported"


@pytest.mark.parametrize("code", sorted(processors.HANDLERS))
def test_a_request_without_fields_and_with_a_body_of_nonsense_costs_only_itself(code: int) -> None:
    desk = Desk()
    desk.ask(REGISTER, broker(), table(*TOPICS))
    for body in (b"", b"\x00\xff", b"{", b"[[[[" * 10_000, b"null", b"=\n"):
        answer = desk.ask(code, body=body)
        assert answer.code in set(ResponseCode)
    assert desk.ask(ROUTE, {"topic": "orders"}).code == ResponseCode.SUCCESS


def test_a_fault_of_ours_answers_the_request_and_touches_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("no way")

    monkeypatch.setattr(desk.routes, "touch", fail)
    answer = desk.ask(RequestCode.BROKER_HEARTBEAT, broker())
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "ZeroDivisionError: no way")
    assert desk.ask(REGISTER, broker(), table(*TOPICS)).code == ResponseCode.SUCCESS


def test_routes_wait_until_brokers_had_time_to_register() -> None:
    desk = Desk(NameServerConfig(waits_for_brokers=True, wait_for_brokers_s=45))
    desk.ask(REGISTER, broker(), table(*TOPICS))
    desk.wait(44_999)
    answer = desk.ask(ROUTE, {"topic": "orders"})
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "name server not ready")
    desk.wait(1)
    assert desk.ask(ROUTE, {"topic": "orders"}).code == ResponseCode.SUCCESS


def test_a_broker_removes_topics_that_it_does_not_have_any_more_if_told_so() -> None:
    desk = Desk(NameServerConfig(deletes_missing_topics=True))
    desk.ask(REGISTER, broker(), table(*TOPICS))
    desk.ask(REGISTER, broker(), table(topic("one"), counter=2))
    assert len(desk.routes.topics) == len(TOPICS) + 1
    desk.ask(REGISTER, broker(), table(*TOPICS[:2], counter=3))
    assert set(desk.routes.topics) == {"TBW102", "orders"}


def test_settings_are_shown_by_rocketmqs_names() -> None:
    shown = decode_properties(Desk().ask(RequestCode.GET_NAMESRV_CONFIG).body)
    assert shown["listenPort"] == "9876"
    assert shown["enableTopicList"] == "true"
    assert list(shown) == sorted(shown)


def test_hundreds_of_topics_are_answered_at_once() -> None:
    """A thousand topics on four brokers: registering and every kind of answer in a fraction of a second."""
    desk = Desk()
    topics = [topic(f"topic-{number}") for number in range(1_000)]
    started = time.perf_counter()
    for number in range(4):
        fields = broker(f"broker-{number}", 10_911 + 10 * number)
        assert desk.ask(REGISTER, fields, table(*topics), connection=number).code == ResponseCode.SUCCESS
    assert len(fastjson_value(desk.ask(ALL_TOPICS).body)["topicList"]) == 1_000
    assert len(fastjson_value(desk.ask(CLUSTER_TOPICS, {"cluster": "C1"}).body)["topicList"]) == 1_000
    for number in range(1_000):
        assert desk.ask(ROUTE, {"topic": f"topic-{number}"}).code == ResponseCode.SUCCESS
    desk.liveness.connection_closed(0, "peer")
    assert time.perf_counter() - started < 5
