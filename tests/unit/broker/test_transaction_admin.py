"""Transactions for operators: lists of them, and decisions that are forced."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.broker.desk import Desk
from tests.unit.transaction.room_desk import INTERVAL_MS, RoomDesk

from escrowmq.broker.outcome import WhenDurable
from escrowmq.protocol.bodies.transactions import TransactionList, decode_transactions
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.topics import AUDIT_TOPIC

LIST, DECIDE = RequestCode.ESCROWMQ_LIST_TRANSACTIONS, RequestCode.ESCROWMQ_DECIDE_TRANSACTION


@pytest.fixture
def room(tmp_path: Path) -> Iterator[RoomDesk]:
    opened = RoomDesk(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def desk(room: RoomDesk) -> Desk:
    return Desk(room=room)


def listed(desk: Desk, **fields: str) -> TransactionList:
    return decode_transactions(desk.ask(LIST, {"state": "pending", **fields}).body)


def ids(found: TransactionList) -> list[str]:
    return [row.transaction_id for row in found.transactions]


def test_pending_ones_are_listed_page_by_page(desk: Desk, room: RoomDesk) -> None:
    for name in "ABCDE":
        room.prepare(name)
    first = listed(desk, countMax="3")
    assert (ids(first), first.pending, first.next_half_offset) == (["A", "B", "C"], 5, 3)
    second = listed(desk, countMax="3", fromHalfOffset="3")
    assert (ids(second), second.next_half_offset) == (["D", "E"], None)
    assert ids(listed(desk, group="another")) == []
    assert ids(listed(desk, countMax="-1")) == []


def test_the_oldest_that_is_pending_is_the_one_that_was_prepared_first(desk: Desk, room: RoomDesk) -> None:
    """The list is in the order of the newest copies."""
    assert listed(desk).oldest_prepared_ms is None
    room.connect()
    room.prepare("first")
    room.clock.advance(INTERVAL_MS // 2)
    room.prepare("second", CHECK_IMMUNITY_TIME_IN_SECONDS="600")
    room.round()
    found = listed(desk)
    assert ids(found) == ["second", "first"]
    assert listed(desk, countMax="1").oldest_prepared_ms == found.transactions[1].prepared_ms


def test_a_row_tells_what_is_known(desk: Desk, room: RoomDesk) -> None:
    room.connect()
    place = room.prepare("A")
    room.round()
    (pending,) = listed(desk).transactions
    assert (pending.state, pending.checks, pending.decided_ms, pending.final_log_offset) == ("pending", 1, None, None)
    assert (pending.group, pending.topic, pending.queue_id) == ("shop", "orders", 1)
    assert (pending.root_log_offset, pending.half_offset) == (place.log_offset, 1)
    room.end(place, Decision.COMMIT)
    (decided,) = listed(desk, state="decided").transactions
    (final,) = room.store.read("orders", 1, 0)
    assert (decided.state, decided.decided_by, decided.final_log_offset) == (
        "committed",
        "10.0.0.1:7",
        final.log_offset,
    )
    assert listed(desk).pending == 0


def test_one_is_found_by_its_id(desk: Desk, room: RoomDesk) -> None:
    room.connect()
    for name in "AB":
        room.prepare(name)
    room.round()
    assert ids(listed(desk, transactionId="B")) == ["B"]
    assert ids(listed(desk, transactionId="C")) == []


@pytest.mark.parametrize(
    ("decision", "state", "delivered"), [("commit", "committed", ["A"]), ("rollback", "rolled_back", [])]
)
def test_an_operator_decides_and_it_is_written_down(
    desk: Desk, room: RoomDesk, decision: str, state: str, delivered: list[str]
) -> None:
    place = room.prepare("A")
    asked = {
        "halfOffset": str(place.half_offset),
        "logOffset": str(place.log_offset),
        "decision": decision,
        "who": "ann",
    }
    outcome = desk.outcome(DECIDE, asked)
    assert isinstance(outcome, WhenDurable)
    assert (outcome.answer.code, outcome.end_offset) == (ResponseCode.SUCCESS, room.store.log_end)
    room.settle()
    assert room.delivered() == delivered
    (row,) = listed(desk, state="decided").transactions
    assert (row.state, row.decided_by) == (state, "operator ann 127.0.0.1:40000")
    (audit,) = room.store.read(AUDIT_TOPIC, 0, 0)
    entry = json.loads(bytes(audit.body))
    assert (entry["what"], entry["wanted"], entry["who"]) == ("forced", state, "operator ann 127.0.0.1:40000")


def test_an_operator_can_not_undo_a_decision(desk: Desk, room: RoomDesk) -> None:
    place = room.prepare("A")
    room.end(place, Decision.ROLLBACK)
    asked = {"halfOffset": str(place.half_offset), "logOffset": str(place.log_offset), "decision": "commit"}
    outcome = desk.outcome(DECIDE, asked)
    assert isinstance(outcome, WhenDurable)
    assert outcome.answer.code == ResponseCode.ILLEGAL_OPERATION
    room.settle()
    assert room.delivered() == []


def test_what_is_not_there_can_not_be_decided(desk: Desk) -> None:
    answer = desk.ask(DECIDE, {"halfOffset": "0", "logOffset": "0", "decision": "commit"})
    assert answer.code == ResponseCode.QUERY_NOT_FOUND
    assert (
        desk.ask(DECIDE, {"halfOffset": "0", "logOffset": "0", "decision": "maybe"}).code == ResponseCode.SYSTEM_ERROR
    )
