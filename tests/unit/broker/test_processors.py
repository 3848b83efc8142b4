"""What becomes of requests, whatever they are."""

import pytest
from tests.unit.broker.desk import Desk, TestRequest, TestStore, heartbeat

from escrowmq.broker import processors
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode


@pytest.mark.parametrize("code", [-1, 0, 27, 99_999])
def test_a_request_that_is_not_served_is_said_to_be_unknown(code: int) -> None:
    answer = Desk().ask(code)
    assert answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert answer.remark == f" request type {code} not supported"


@pytest.mark.parametrize("code", sorted(processors.HANDLERS))
def test_a_request_without_fields_and_with_a_body_of_nonsense_costs_only_itself(code: int) -> None:
    desk = Desk()
    desk.ask(34, body=heartbeat())
    for body in (b"", b"\x00\xff", b"{", b"[[[[" * 10_000, b"null", b"[]", b'{"clientID":1}'):
        assert desk.ask(code, body=body).code in set(ResponseCode)
    assert desk.ask(38, {"consumerGroup": "billing"}).code == ResponseCode.SUCCESS


def test_a_missing_field_is_named() -> None:
    answer = Desk().ask(38)
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "the custom field <consumerGroup> is null")


def test_requests_are_handled_in_their_order_whatever_their_codes() -> None:
    desk = Desk()
    requests = [
        TestRequest(34, body=heartbeat("one")),
        TestRequest(38, {"consumerGroup": "billing"}),
        TestRequest(35, {"clientID": "one", "consumerGroup": "billing"}),
        TestRequest(38, {"consumerGroup": "billing"}),
    ]
    answers = [outcome for _, outcome in processors.process(desk.context, requests)]
    assert [answer.code for answer in answers if isinstance(answer, Answer)] == [0, 0, 0, 1]


def test_a_handler_that_fails_as_a_whole_answers_all_of_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> list[Answer]:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(processors, "HANDLERS", {7: fail})
    requests = [TestRequest(7), TestRequest(7), TestRequest(8)]
    answers = [outcome for _, outcome in processors.process(Desk().context, requests)]
    failed = Answer(ResponseCode.SYSTEM_ERROR, "RuntimeError: out of luck")
    assert answers[:2] == [failed, failed]


def test_offsets_are_found_by_time() -> None:
    desk = Desk(store=TestStore({("orders", 0): [10, 20, 30]}))

    def search(timestamp: int, **more: str) -> str:
        fields = {"topic": "orders", "queueId": "0", "timestamp": str(timestamp), **more}
        return desk.ask(29, fields).ext_fields["offset"]

    assert [search(15), search(20), search(99)] == ["1", "1", "3"]
    assert [search(15, boundaryType="UPPER"), search(99, boundaryType="upper")] == ["0", "2"]
    assert desk.ask(29, {"topic": "none", "queueId": "0", "timestamp": "1"}).ext_fields == {"offset": "0"}
    assert desk.ask(32, {"topic": "orders", "queueId": "0"}).ext_fields == {"timestamp": "10"}
    assert desk.ask(32, {"topic": "none", "queueId": "0"}).ext_fields == {"timestamp": "-1"}
