"""`escrowmq topic`, asked of a broker that runs."""

import pytest
from tests.commands.terminal import Terminal, facts_of, tables_of

from escrowmq.testing import LocalBroker

SETTINGS = {
    "topic": "orders",
    "broker": "broker-a",
    "read_queues": 4,
    "write_queues": 2,
    "permission": "rw",
    "is_ordered": False,
    "attributes": {"message.type": "FIFO"},
}


def test_topics_are_listed(broker: LocalBroker, terminal: Terminal) -> None:
    assert terminal.text("topic", "list") == "there are no topics; --all shows those that are not for users too\n"
    assert terminal.json("topic", "list") == []
    broker.create_topic("orders", queues=2)
    assert terminal.table("topic", "list") == [
        {
            "topic": "orders",
            "kind": "normal",
            "read queues": "2",
            "write queues": "2",
            "permission": "rw",
            "brokers": "broker-a",
        }
    ]
    assert terminal.json("topic", "list") == [
        {
            "topic": "orders",
            "kind": "normal",
            "read_queues": 2,
            "write_queues": 2,
            "permission": "rw",
            "brokers": ["broker-a"],
        }
    ]


def test_all_topics_are_listed_by_their_kinds(broker: LocalBroker, terminal: Terminal) -> None:
    for name in ("orders", "%RETRY%billing", "%DLQ%billing"):
        broker.create_topic(name)
    kinds = {topic["topic"]: topic["kind"] for topic in terminal.json("topic", "list", "--all")}
    assert (kinds["orders"], kinds["%RETRY%billing"], kinds["%DLQ%billing"]) == ("normal", "retry", "dead letter")
    others = {kind for name, kind in kinds.items() if not name.endswith(("orders", "billing"))}
    assert others == {"system"}
    assert {"TBW102", "broker-a", "DefaultCluster"} <= kinds.keys()


def test_a_topic_is_made_once(terminal: Terminal) -> None:
    create = ("topic", "create", "orders", "--read-queues=4", "--write-queues=2", "--type=FIFO")
    assert terminal.json(*create) == [SETTINGS]
    done = terminal.run(*create)
    assert (done.exit_code, done.stderr) == (
        1,
        "Error: 'orders' is there, on broker-a; `escrowmq topic update` alters it\n",
    )
    (shown,) = terminal.table("topic", "create", "payments", "--cluster=DefaultCluster")
    assert (shown["read queues"], shown["write queues"], shown["permission"]) == ("8", "8", "rw")


def test_what_is_not_said_of_a_topic_stays(broker: LocalBroker, terminal: Terminal) -> None:
    terminal.text("topic", "create", "orders", "--read-queues=4", "--write-queues=2", "--type=FIFO")
    (told,) = terminal.json("topic", "update", "orders", "--permission=r", f"--broker={broker.address}")
    assert told == {**SETTINGS, "permission": "r"}
    (shown,) = terminal.table("topic", "update", "orders", "--queues=8", "--ordered")
    assert shown == {
        "topic": "orders",
        "broker": "broker-a",
        "read queues": "8",
        "write queues": "8",
        "permission": "r",
        "ordered": "yes",
        "attributes": "message.type=FIFO",
    }
    assert terminal.run("topic", "update", "payments").exit_code == 3


def test_a_topic_is_shown_with_its_queues(broker: LocalBroker, terminal: Terminal) -> None:
    terminal.text("topic", "create", "orders", "--queues=2", "--type=NORMAL")
    for _ in range(3):
        terminal.text("message", "send", "orders", "debit 10", "--queue=1")
    terminal.text("group", "create", "billing")
    terminal.text("group", "reset", "billing", "--topic=orders", "--to=latest", "--yes")
    text = terminal.text("topic", "show", "orders")
    assert facts_of(text) == {
        "topic": "orders",
        "kind": "normal",
        "ordered": "no",
        "attributes": "message.type=NORMAL",
        "groups": "billing",
        "messages": "3",
    }
    ((place,), queues) = tables_of(text)
    assert (place["broker"], place["address"], place["read queues"]) == ("broker-a", broker.address, "2")
    offsets = [(queue["queue"], queue["first offset"], queue["end offset"], queue["messages"]) for queue in queues]
    assert offsets == [("0", "0", "0", "0"), ("1", "0", "3", "3")]
    assert queues[0]["last stored"] == "never"
    told = terminal.json("topic", "show", "orders")
    assert told["groups"] == ["billing"]
    assert told["attributes"] == {"message.type": "NORMAL"}
    last = broker.messages("orders")[-1].stored_at_ms
    assert told["queues"][1] == {
        "broker": "broker-a",
        "queue_id": 1,
        "min_offset": 0,
        "max_offset": 3,
        "messages": 3,
        "last_stored_at_ms": last,
    }


def test_a_topic_is_deleted_by_who_agrees(broker: LocalBroker, terminal: Terminal) -> None:
    broker.create_topic("orders")
    done = terminal.run("topic", "delete", "orders")
    assert done.exit_code == 2
    assert "the topic orders and its messages will be gone: say --yes" in done.stderr
    assert terminal.text("topic", "delete", "orders", "--yes") == "orders is deleted from broker-a\n"
    assert terminal.json("topic", "list") == []
    broker.create_topic("orders")
    assert terminal.json("topic", "delete", "orders", "--yes") == {"topic": "orders", "brokers": ["broker-a"]}


@pytest.mark.parametrize("command", [("show",), ("delete", "--yes")])
def test_a_topic_that_is_not_there_is_said_to_be_so(terminal: Terminal, command: tuple[str, ...]) -> None:
    done = terminal.run("topic", *command, "orders")
    assert done.exit_code == 3
    assert done.stderr == "Error: there is no topic 'orders'; `escrowmq topic list` shows those that are there\n"


def test_a_name_that_no_topic_may_have_is_refused_by_the_broker(terminal: Terminal) -> None:
    done = terminal.run("topic", "create", "or ders")
    assert done.exit_code == 1
    assert "contains illegal characters" in done.stderr
    assert "INVALID_PARAMETER" in done.stderr


def test_options_that_contradict_each_other_are_refused(terminal: Terminal) -> None:
    done = terminal.run("topic", "create", "orders", "--broker=broker-a", "--cluster=DefaultCluster")
    assert (done.exit_code, "contradict" in done.stderr) == (2, True)
    assert terminal.run("topic", "create", "orders", "--cluster=other").exit_code == 3
