"""Requests that append: together, and each at its own cost."""

from collections.abc import Sequence

import pytest
from tests.unit.broker.desk import Desk, TestRequest, TestStore

from escrowmq import Message
from escrowmq.broker import batches
from escrowmq.broker.batches import Append, appending
from escrowmq.broker.context import Context
from escrowmq.broker.outcome import Outcome, WhenDurable
from escrowmq.broker.ports import AppendedMessage, ClientRequest
from escrowmq.errors import DiskFull, IoFailure, StorePoisoned
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode


def plan(_context: Context, request: ClientRequest) -> Outcome | Append:
    """Appends the body once for each of its words; a request without a body is answered at once."""
    words = bytes(request.body).split()
    if not words:
        return Answer(remark="nothing to do")
    if words == [b"fail"]:
        raise RuntimeError("out of luck")

    def stored(receipts: Sequence[AppendedMessage]) -> Outcome:
        if words == [b"late"]:
            raise RuntimeError("too late")
        offsets = " ".join(str(receipt.queue_offset) for receipt in receipts)
        return WhenDurable(Answer(remark=offsets), receipts[-1].end_offset)

    return Append(
        [Message("orders", word) for word in words], stored, lambda code, remark: Answer(code, f"no: {remark}")
    )


def handle(store: TestStore, bodies: Sequence[bytes]) -> Sequence[Outcome]:
    requests = [TestRequest(10, body=body) for body in bodies]
    return appending(plan)(Desk(store=store).context, requests)


def test_what_a_batch_of_requests_wants_is_one_append_and_each_is_answered_by_its_own_part() -> None:
    store = TestStore()
    outcomes = handle(store, [b"one two", b"", b"three"])
    assert [[message.body for message in batch] for batch in store.batches] == [[b"one", b"two", b"three"]]
    assert outcomes == [
        WhenDurable(Answer(remark="0 1"), 6),
        Answer(remark="nothing to do"),
        WhenDurable(Answer(remark="2"), 11),
    ]


def test_a_bad_message_costs_its_own_request_only() -> None:
    store = TestStore()
    outcomes = handle(store, [b"bad", b"one", b"two bad", b"three", b"bad"])
    assert [[message.body for message in batch] for batch in store.batches] == [[b"one", b"three"]]
    refused = Answer(ResponseCode.MESSAGE_ILLEGAL, "no: the message is illegal: a bad body")
    assert outcomes == [
        refused,
        WhenDurable(Answer(remark="0"), 3),
        refused,
        WhenDurable(Answer(remark="1"), 8),
        refused,
    ]


def test_a_fault_costs_its_own_request_only_before_the_append_and_after_it() -> None:
    outcomes = handle(TestStore(), [b"fail", b"one", b"late", b"two"])
    assert outcomes == [
        Answer(ResponseCode.SYSTEM_ERROR, "RuntimeError: out of luck"),
        WhenDurable(Answer(remark="0"), 3),
        Answer(ResponseCode.SYSTEM_ERROR, "RuntimeError: too late"),
        WhenDurable(Answer(remark="2"), 10),
    ]


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (DiskFull("no space"), ResponseCode.SERVICE_NOT_AVAILABLE),
        (StorePoisoned("no flush"), ResponseCode.SERVICE_NOT_AVAILABLE),
        (IoFailure("no luck"), ResponseCode.SYSTEM_ERROR),
    ],
)
def test_a_store_that_takes_nothing_is_told_to_all(failure: DiskFull, code: ResponseCode) -> None:
    store = TestStore()
    store.failure = failure
    outcomes = handle(store, [b"one", b"", b"two"])
    assert [outcome.code for outcome in outcomes if isinstance(outcome, Answer)] == [code, ResponseCode.SUCCESS, code]


def test_a_large_batch_is_appended_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "APPEND_SIZE_MAX_BYTES", 10)
    store = TestStore()
    outcomes = handle(store, [b"12345", b"67890", b"1", b"this-is-large-alone", b"2"])
    assert [len(batch) for batch in store.batches] == [2, 1, 1, 1]
    assert [outcome.answer.remark for outcome in outcomes if isinstance(outcome, WhenDurable)] == list("01234")
