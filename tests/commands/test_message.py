"""`escrowmq message`, asked of a broker that runs."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.commands.terminal import Terminal, call
from tests.compat.broker_process import Client
from tests.unit.broker.desk import heartbeat

from escrowmq import Frame, decode_records
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.testing import LocalBroker

FOUND = {"topic", "broker", "queue_id", "queue_offset", "message_id", "offset_id", "tags", "keys", "body"}


@pytest.fixture(autouse=True)
def orders(broker: LocalBroker) -> None:
    broker.create_topic("orders", queues=2)


def send(terminal: Terminal, *arguments: str) -> Any:
    return terminal.json("message", "send", "orders", *arguments)


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def bodies(terminal: Terminal, *arguments: str) -> list[str]:
    return [line["body"] for line in lines(terminal.text("message", "read", "orders", "--json", *arguments))]


def test_a_message_is_sent(broker: LocalBroker, terminal: Terminal) -> None:
    options = ("--tag=paid", "--key=k1", "--key=k2", "--property=colour=red", "--queue=1", "--broker=broker-a")
    sent = send(terminal, "debit 10", *options)
    (message,) = broker.messages("orders")
    assert (message.body, message.tags, message.keys, message.queue_id) == (b"debit 10", "paid", ["k1", "k2"], 1)
    assert message.properties["colour"] == "red"
    assert message.properties["UNIQ_KEY"] == sent["message_id"]
    assert (sent["topic"], sent["broker"], sent["queue_id"], sent["queue_offset"]) == ("orders", "broker-a", 1, 0)
    facts = terminal.facts("message", "send", "orders", "debit 20", "--queue=1")
    assert (facts["topic"], facts["broker"], facts["queue id"], facts["queue offset"]) == (
        "orders",
        "broker-a",
        "1",
        "1",
    )


def test_a_body_may_come_from_a_file(broker: LocalBroker, terminal: Terminal, tmp_path: Path) -> None:
    body = bytes(range(256))
    (tmp_path / "body").write_bytes(body)
    send(terminal, f"--file={tmp_path / 'body'}")
    terminal.text("message", "send", "orders", "--file=-", stdin=b"from a pipe")
    assert [message.body for message in broker.messages("orders")] == [body, b"from a pipe"]


def test_a_message_may_be_for_later(broker: LocalBroker, terminal: Terminal) -> None:
    send(terminal, "timed", "--delay=3600")
    send(terminal, "delayed", "--delay-level=18")
    assert broker.messages("orders") == []
    broker.clock.advance(seconds=7_200)
    assert {message.body for message in broker.messages("orders", count=2)} == {b"timed", b"delayed"}


def test_a_message_is_shown_by_either_id_and_by_its_place(broker: LocalBroker, terminal: Terminal) -> None:
    sent = send(terminal, "debit 10", "--tag=paid", "--key=k1", "--queue=1")
    (stored,) = broker.messages("orders")
    place = ("--topic=orders", "--queue=1", "--offset=0")
    for how in ((sent["message_id"], "--topic=orders"), (sent["offset_id"],), place):
        (told,) = terminal.json("message", "show", *how)
        assert {name: told[name] for name in FOUND} == {
            **{name: sent[name] for name in ("topic", "broker", "queue_id", "queue_offset", "message_id", "offset_id")},
            "tags": "paid",
            "keys": ["k1"],
            "body": "debit 10",
        }
        assert told["stored_at_ms"] == stored.stored_at_ms
        assert told["properties"] == stored.properties
        facts = terminal.facts("message", "show", *how)
        assert (facts["id"], facts["offset id"]) == (sent["message_id"], sent["offset_id"])
        assert (facts["topic"], facts["queue"], facts["offset"], facts["tags"]) == ("orders", "1", "0", "paid")
        assert (facts["keys"], facts["body"]) == ("k1", "debit 10")
        assert "TAGS=paid" in facts["properties"]


def test_a_body_that_is_no_text_is_told_and_written_as_it_is(
    terminal: Terminal, tmp_path: Path, broker: LocalBroker
) -> None:
    (tmp_path / "body").write_bytes(b"\xff\x00\x1b")
    sent = send(terminal, f"--file={tmp_path / 'body'}")
    (told,) = terminal.json("message", "show", sent["offset_id"])
    assert (told["body"], told["body_base64"]) == (None, "/wAb")
    assert terminal.facts("message", "show", sent["offset_id"])["body"].startswith("3 bytes that are no text")
    written = call("message", "show", sent["offset_id"], "--body-only", "--namesrv", broker.name_server)
    assert written.stdout_bytes == b"\xff\x00\x1b"


@pytest.mark.parametrize(
    "how",
    [
        ("7F00000100002A9F0000000000000000",),
        ("7F00000100002A9F0000000000000000", "--topic=orders"),
        ("nonsense",),
        ("--topic=orders", "--queue=0", "--offset=0"),
    ],
)
def test_a_message_that_is_not_there_is_said_to_be_so(terminal: Terminal, how: tuple[str, ...]) -> None:
    done = terminal.run("message", "show", *how)
    assert done.exit_code == 3
    assert done.stderr.startswith("Error: there is no message ")


def consume(consumer: Client, result: bytes) -> bytes:
    """Consumes what the broker hands over; its body."""
    told = consumer.await_told()
    while told.code != RequestCode.CONSUME_MESSAGE_DIRECTLY:
        told = consumer.await_told()
    body = b'{"autoCommit":true,"consumeResult":"%s","order":false,"spentTimeMills":7}' % result
    consumer.send(Frame(0, opaque=told.opaque, flag=1, body=body))
    return bytes(decode_records(told.body)[0].body)


def test_a_message_is_consumed_again(broker: LocalBroker, terminal: Terminal) -> None:
    sent = send(terminal, "debit 10")
    command = ("message", "redeliver", sent["message_id"], "--topic=orders", "--group=billing")
    done = terminal.run(*command)
    assert (done.exit_code, "the group 'billing' has no member at 'broker-a'" in done.stderr) == (3, True)
    with Client(broker.address) as consumer, ThreadPoolExecutor(1) as thread:
        consumer.ask(RequestCode.HEART_BEAT, body=heartbeat("client-1"))
        consumed = thread.submit(consume, consumer, b"CR_SUCCESS")
        told = terminal.json(*command)
        assert consumed.result() == b"debit 10"
        assert (told["client_id"], told["result"], told["spent_ms"]) == ("client-1", "CR_SUCCESS", 7)
        consumed = thread.submit(consume, consumer, b"CR_LATER")
        facts = terminal.facts(*command, "--client=client-1")
        assert consumed.result() == b"debit 10"
        assert (facts["client id"], facts["result"]) == ("client-1", "CR_LATER")
        other = terminal.run(*command, "--client=client-2")
        assert (other.exit_code, "has no member 'client-2'" in other.stderr) == (3, True)


def test_messages_are_found_by_their_keys(broker: LocalBroker, terminal: Terminal) -> None:
    for number, key in enumerate(["k1", "k2", "k1"]):
        broker.clock.advance(seconds=60)
        send(terminal, f"debit {number}", f"--key={key}")
    told = terminal.json("message", "find", "orders", "k1")
    assert [one["body"] for one in told] == ["debit 0", "debit 2"]
    shown = terminal.table("message", "find", "orders", "k1")
    assert [row["id"] for row in shown] == [one["message_id"] for one in told]
    assert {row["keys"] for row in shown} == {"k1"}
    later = terminal.json("message", "find", "orders", "k1", f"--from={told[1]['stored_at_ms']}")
    assert [one["body"] for one in later] == ["debit 2"]
    earlier = terminal.json("message", "find", "orders", "k1", f"--to={told[1]['stored_at_ms'] - 1}")
    assert [one["body"] for one in earlier] == ["debit 0"]
    assert [one["body"] for one in terminal.json("message", "find", "orders", "k1", "--max=1")] == ["debit 2"]
    none = terminal.text("message", "find", "orders", "k3")
    assert none == "no message of orders has the key k3 in that time\n"


def test_a_topic_is_read_in_the_order_in_which_it_was_stored(broker: LocalBroker, terminal: Terminal) -> None:
    for number in range(100):
        broker.clock.advance(seconds=1)
        broker.send("orders", b"%d" % number, tags="even" if number % 2 == 0 else "odd", properties={"n": str(number)})
    assert bodies(terminal) == [str(number) for number in range(100)]
    assert bodies(terminal, "--max=3") == ["0", "1", "2"]
    assert bodies(terminal, "--tag=even", "--max=2") == ["0", "2"]
    assert bodies(terminal, "--tag=even", "--tag=odd", "--max=2") == ["0", "1"]
    assert bodies(terminal, "--sql=n BETWEEN 10 AND 11") == ["10", "11"]
    assert bodies(terminal, "--from=latest") == []
    times = {message.body: message.stored_at_ms for message in broker.messages("orders")}
    assert bodies(terminal, f"--from={times[b'20']}", f"--to={times[b'22']}") == ["20", "21", "22"]
    assert terminal.json("group", "list") == []


def test_a_message_is_a_line_for_people(broker: LocalBroker, terminal: Terminal) -> None:
    broker.send("orders", b"two\nlines \x1b[31m", tags="paid")
    broker.send("orders", b"\xff")
    first, second = terminal.text("message", "read", "orders").splitlines()
    assert first.endswith("/0  paid  two\\nlines \\x1b[31m")
    assert second.endswith("  -  1 bytes that are no text")


def test_a_topic_that_is_not_there_can_be_neither_sent_to_nor_read(terminal: Terminal) -> None:
    for command in (("send", "none", "x"), ("find", "none", "k"), ("read", "none"), ("read", "none", "--follow")):
        done = terminal.run("message", *command)
        assert done.exit_code == 3
        assert done.stderr.startswith("Error: there is no topic 'none'; ")
