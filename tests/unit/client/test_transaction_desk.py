"""The desk: half messages that are decided, asked about, given up and brought back."""

import threading
from collections.abc import Iterator

import pytest
from tests.unit.client.asking import is_known, wait_until

from escrowmq import Message
from escrowmq.client import Client, Decision, Ended, HalfMessage, TransactionDesk
from escrowmq.errors import PrepareFailed, Unsendable
from escrowmq.model.names import DISCARD_TOPIC
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.testing import LocalBroker

GROUP = "billing"
# A round of questions, and little enough that no client is silent for too long in three of them.
ROUND_S = 37


class Checker:
    """Says of every transaction what it is told to say."""

    def __init__(self) -> None:
        self.says: Decision | Exception | None = Decision.COMMIT
        self.asked: list[HalfMessage] = []

    def __call__(self, half: HalfMessage) -> Decision | None:
        self.asked.append(half)
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


@pytest.fixture
def checker() -> Checker:
    return Checker()


@pytest.fixture
def client(escrowmq_broker: LocalBroker) -> Iterator[Client]:
    escrowmq_broker.create_topic("orders")
    opened = Client(escrowmq_broker.name_server)
    yield opened
    opened.close()


@pytest.fixture
def desk(client: Client, checker: Checker, escrowmq_broker: LocalBroker) -> Iterator[TransactionDesk]:
    with TransactionDesk(client, GROUP, topics=["orders"], check=checker) as opened:
        wait_until(lambda: is_known(escrowmq_broker, GROUP, client))
        yield opened


def bodies(broker: LocalBroker, *, count: int = 0) -> list[bytes]:
    return sorted(message.body for message in broker.messages("orders", count=count))


def test_what_is_committed_is_there_and_what_is_rolled_back_is_not(
    desk: TransactionDesk, escrowmq_broker: LocalBroker
) -> None:
    kept, dropped = desk.prepare([Message("orders", b"kept"), Message("orders", b"dropped")])
    assert bodies(escrowmq_broker) == []
    assert desk.end([kept], Decision.COMMIT) == [Ended.SETTLED]
    assert desk.end([dropped], Decision.ROLLBACK) == [Ended.SETTLED]
    assert bodies(escrowmq_broker) == [b"kept"]


def test_the_first_decision_stays(desk: TransactionDesk, escrowmq_broker: LocalBroker) -> None:
    prepared = desk.prepare([Message("orders", b"kept")])
    assert desk.end(prepared, Decision.COMMIT) == [Ended.SETTLED]
    assert desk.end(prepared, Decision.COMMIT) == [Ended.SETTLED]
    assert desk.end(prepared, Decision.ROLLBACK) == [Ended.CONTRADICTED]
    assert bodies(escrowmq_broker) == [b"kept"]


def test_what_nobody_decided_is_asked_about(
    desk: TransactionDesk, checker: Checker, escrowmq_broker: LocalBroker
) -> None:
    message = Message("orders", b"paid", tags="t", keys=["k1", "k2"], properties={"order": "7"})
    prepared = desk.prepare([message])
    assert desk.end(prepared, Decision.UNKNOWN) == [Ended.TOLD]
    escrowmq_broker.clock.advance(seconds=ROUND_S)
    assert bodies(escrowmq_broker, count=1) == [b"paid"]
    (half,) = checker.asked
    assert (half.topic, half.body, half.tags, half.keys) == ("orders", b"paid", "t", ["k1", "k2"])
    assert (half.properties["order"], half.transaction_id) == ("7", prepared[0].transaction_id)
    assert half.checks_so_far == 1


def test_a_large_body_comes_back_whole_with_a_question(
    desk: TransactionDesk, checker: Checker, escrowmq_broker: LocalBroker
) -> None:
    desk.prepare([Message("orders", b"paid" * 10_000)])
    escrowmq_broker.clock.advance(seconds=ROUND_S)
    escrowmq_broker.messages("orders", count=1)
    assert checker.asked[0].body == b"paid" * 10_000


@pytest.mark.parametrize("says", [None, Decision.UNKNOWN, ValueError("no database")])
def test_a_check_that_does_not_know_is_asked_again(
    desk: TransactionDesk, checker: Checker, escrowmq_broker: LocalBroker, says: Decision | Exception | None
) -> None:
    desk.prepare([Message("orders", b"paid")])
    checker.says = says
    escrowmq_broker.clock.advance(seconds=ROUND_S)
    wait_until(lambda: len(checker.asked) == 1)
    checker.says = Decision.COMMIT
    escrowmq_broker.clock.advance(seconds=ROUND_S)
    assert bodies(escrowmq_broker, count=1) == [b"paid"]
    assert len(checker.asked) == 2


def test_a_restarted_producer_is_asked_at_once(escrowmq_broker: LocalBroker, client: Client, checker: Checker) -> None:
    with TransactionDesk(client, GROUP, topics=["orders"], check=checker) as desk:
        desk.prepare([Message("orders", b"paid")])
    restarted = Client(escrowmq_broker.name_server)
    try:
        with TransactionDesk(restarted, GROUP, topics=["orders"], check=checker):
            wait_until(lambda: is_known(escrowmq_broker, GROUP, restarted))
            escrowmq_broker.clock.advance(seconds=ROUND_S)
            escrowmq_broker.messages("orders", count=1)
    finally:
        restarted.close()
    assert bodies(escrowmq_broker) == [b"paid"]


@pytest.mark.escrowmq(settings={"broker.transaction_checks_max": 1})
def test_a_transaction_that_was_given_up_is_brought_back(
    desk: TransactionDesk, checker: Checker, escrowmq_broker: LocalBroker
) -> None:
    checker.says = Decision.UNKNOWN
    (prepared,) = desk.prepare([Message("orders", b"paid")])
    for _ in range(2):
        escrowmq_broker.clock.advance(seconds=ROUND_S)
        wait_until(lambda: len(checker.asked) == 1)
    escrowmq_broker.messages(DISCARD_TOPIC, count=1)
    assert desk.end([prepared], Decision.COMMIT) == [Ended.DISCARDED]
    checker.says = Decision.COMMIT
    assert desk.resume(prepared)
    escrowmq_broker.clock.advance(seconds=ROUND_S)
    assert bodies(escrowmq_broker, count=1) == [b"paid"]


def test_what_did_not_all_get_through_says_what_did(desk: TransactionDesk, escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.drop_next_answer(RequestCode.SEND_MESSAGE_V2)
    with pytest.raises(PrepareFailed, match="1 of 2 half messages") as failure:
        desk.prepare([Message("orders", b"first"), Message("orders", b"second")], timeout_s=0.2)
    assert len(failure.value.prepared) == 1


def test_what_no_broker_takes_is_refused_before(desk: TransactionDesk) -> None:
    with pytest.raises(PrepareFailed, match="illegal characters") as failure:
        desk.prepare([Message("orders?", b"paid")])
    assert isinstance(failure.value.__cause__, Unsendable)
    assert failure.value.prepared == []


def test_an_end_never_raises(escrowmq_broker: LocalBroker, client: Client, checker: Checker) -> None:
    desk = TransactionDesk(client, GROUP, topics=["orders"], check=checker)
    prepared = desk.prepare([Message("orders", b"paid")])
    escrowmq_broker.kill()
    assert desk.end(prepared, Decision.COMMIT) == [Ended.UNREACHABLE]
    client.close()
    assert desk.end(prepared, Decision.COMMIT) == [Ended.UNREACHABLE]
    desk.close()


def test_a_check_that_never_returns_holds_up_nobody(escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.create_topic("orders")
    client = Client(escrowmq_broker.name_server)
    returns, asked = threading.Event(), threading.Event()

    def check(_: HalfMessage) -> Decision:
        asked.set()
        returns.wait()
        return Decision.COMMIT

    desk = TransactionDesk(client, GROUP, topics=["orders"], check=check)
    try:
        desk.prepare([Message("orders", b"paid")])
        wait_until(lambda: is_known(escrowmq_broker, GROUP, client))
        escrowmq_broker.clock.advance(seconds=ROUND_S)
        assert asked.wait(10)
        (other,) = desk.prepare([Message("orders", b"other")])
        assert desk.end([other], Decision.COMMIT) == [Ended.SETTLED]
    finally:
        desk.close()
        client.close()
        returns.set()
