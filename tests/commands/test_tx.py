"""`escrowmq tx`, asked of a broker that runs."""

from collections.abc import Iterator

import pytest
from tests.commands.terminal import Terminal
from tests.compat.transacting import COMMIT, ROLLBACK, UNKNOWN, TransactionPeer

from escrowmq.testing import LocalBroker

CHECK_S = 31


@pytest.fixture
def producer(broker: LocalBroker) -> Iterator[TransactionPeer]:
    with TransactionPeer(broker.address) as connected:
        yield connected


def test_pending_ones_are_listed(producer: TransactionPeer, terminal: Terminal) -> None:
    assert terminal.text("tx", "list") == "no transaction is pending\n"
    producer.prepare("A")
    producer.end(producer.prepare("B"), COMMIT)
    (row,) = terminal.table("tx", "list")
    assert row.pop("prepared").startswith("20")
    assert row == {
        "transaction": "A",
        "group": "shop",
        "topic": "orders",
        "state": "pending",
        "questions": "0",
        "decided": "never",
        "by": "-",
        "broker": "broker-a",
    }
    (one,) = terminal.json("tx", "list")
    assert (one["transaction_id"], one["half_offset"], one["decided_at_ms"]) == ("A", 0, None)
    assert terminal.json("tx", "list", "--group=another") == []


def test_more_than_a_page_are_listed(producer: TransactionPeer, terminal: Terminal) -> None:
    for number in range(12):
        producer.prepare(f"{number:02}")
    ids = [row["transaction_id"] for row in terminal.json("tx", "list", "--limit=7")]
    assert ids == [f"{number:02}" for number in range(7)]


def test_decided_ones_are_listed_with_who_decided(producer: TransactionPeer, terminal: Terminal) -> None:
    for name, decision in (("A", COMMIT), ("B", ROLLBACK)):
        producer.end(producer.prepare(name), decision)
    rows = terminal.table("tx", "list", "--decided")
    assert [(row["transaction"], row["state"]) for row in rows] == [("B", "rolled_back"), ("A", "committed")]
    assert all(row["by"].startswith("127.0.0.1:") for row in rows)


def test_one_is_shown(producer: TransactionPeer, terminal: Terminal) -> None:
    producer.prepare("A")
    (row,) = terminal.table("tx", "show", "A")
    assert row["transaction"] == "A"
    done = terminal.run("tx", "show", "B")
    assert (done.exit_code, done.stderr) == (
        3,
        "Error: there is no transaction 'B'; `escrowmq tx list` shows those that are undecided\n",
    )


@pytest.mark.parametrize(("decision", "state"), [("commit", "committed"), ("rollback", "rolled_back")])
def test_an_operator_decides(
    broker: LocalBroker, producer: TransactionPeer, terminal: Terminal, decision: str, state: str
) -> None:
    delivered = [b"body"] if decision == "commit" else []
    producer.prepare("A")
    done = terminal.run("tx", decision, "A")
    assert done.exit_code == 2
    assert "say --yes" in done.stderr
    (row,) = terminal.table("tx", decision, "A", "--yes")
    assert row["state"] == state
    assert row["by"].startswith("operator ")
    assert [message.body for message in broker.messages("orders", count=len(delivered))] == delivered
    done = terminal.run("tx", "commit", "A", "--yes")
    assert (done.exit_code, done.stderr) == (1, f"Error: A is {state.replace('_', ' ')} already\n")
    (audited,) = broker.messages("rmq_sys_escrowmq_audit", count=1)
    assert b'"what":"forced"' in audited.body


def test_one_that_was_given_up_gets_another_chance() -> None:
    with LocalBroker(settings={"transactionCheckMax": 1}) as broker, TransactionPeer(broker.address) as producer:
        producer.prepare("A")
        producer.heartbeat()
        broker.clock.advance(seconds=CHECK_S)
        producer.reply(producer.question(), UNKNOWN)
        producer.heartbeat()
        broker.clock.advance(seconds=CHECK_S)
        broker.messages("TRANS_CHECK_MAX_TIME_TOPIC", count=1)
        own = Terminal(broker.name_server)
        discarded = own.json("message", "read", "TRANS_CHECK_MAX_TIME_TOPIC")
        said = own.text("tx", "resume", discarded["offset_id"], "--broker=broker-a")
        assert said == f"{discarded['offset_id']} is pending again on broker-a\n"
        (row,) = own.json("tx", "list")
        assert (row["transaction_id"], row["checks"]) == ("A", 0)
        done = own.run("tx", "resume", "7F", "--broker=broker-a")
        assert done.exit_code == 1


def test_how_many_there_are_is_shown_again_and_again(producer: TransactionPeer, terminal: Terminal) -> None:
    producer.prepare("A")
    lines = terminal.text("tx", "watch", "--count=2", "--interval=0.1", "--json").splitlines()
    assert len(lines) == 2
    (row,) = terminal.table("tx", "watch", "--count=1")
    assert (row["broker"], row["pending"], row["decided"]) == ("broker-a", "1", "0")
