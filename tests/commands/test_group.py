"""`escrowmq group`, asked of a broker that runs."""

from collections.abc import Iterator

import pytest
from tests.commands.terminal import Terminal, facts_of, tables_of
from tests.compat.broker_process import Client
from tests.unit.broker.desk import heartbeat

from escrowmq.protocol.request_codes import RequestCode
from escrowmq.testing import LocalBroker

SETTINGS = {
    "group": "billing",
    "broker": "broker-a",
    "may_consume": True,
    "may_broadcast": True,
    "is_orderly": False,
    "retries_max": 16,
    "retry_queues": 1,
}


@pytest.fixture
def behind(broker: LocalBroker, terminal: Terminal) -> None:
    """The group `billing` has consumed one of three messages of `orders`."""
    broker.create_topic("orders", queues=1)
    terminal.text("group", "create", "billing")
    for number in range(3):
        broker.send("orders", b"debit %d" % number)
    commit(broker, 1)


@pytest.fixture
def member(broker: LocalBroker) -> Iterator[None]:
    """A consumer of `billing` is connected."""
    with Client(broker.address) as client:
        client.ask(RequestCode.HEART_BEAT, body=heartbeat("client-1"))
        yield


def commit(broker: LocalBroker, offset: int) -> None:
    fields = {"consumerGroup": "billing", "topic": "orders", "queueId": "0", "commitOffset": str(offset)}
    with Client(broker.address) as client:
        assert client.ask(RequestCode.UPDATE_CONSUMER_OFFSET, fields).code == 0


def offset_of(terminal: Terminal, group: str) -> int:
    (queue,) = terminal.json("group", "show", group)["queues"]
    return int(queue["consumer_offset"])


@pytest.mark.usefixtures("behind", "member")
def test_groups_are_listed(terminal: Terminal) -> None:
    assert terminal.json("group", "list") == [
        {
            "group": "billing",
            "is_system": False,
            "members": 1,
            "topics": ["orders"],
            "lag": 2,
            "brokers": ["broker-a"],
        }
    ]
    assert terminal.table("group", "list") == [
        {"group": "billing", "members": "1", "lag": "2", "topics": "orders", "brokers": "broker-a"}
    ]
    assert {"billing", "TOOLS_CONSUMER"} <= {group["group"] for group in terminal.json("group", "list", "--all")}


def test_where_there_are_no_groups_it_says_so(terminal: Terminal) -> None:
    assert terminal.text("group", "list") == "there are no groups; --all shows those of RocketMQ's own tools too\n"
    assert terminal.json("group", "list") == []


@pytest.mark.usefixtures("behind", "member")
def test_a_group_is_shown_with_its_progress_and_members(broker: LocalBroker, terminal: Terminal) -> None:
    told = terminal.json("group", "show", "billing")
    (queue,) = told["queues"]
    assert queue == {
        "topic": "orders",
        "broker": "broker-a",
        "queue_id": 0,
        "consumer_offset": 1,
        "broker_offset": 3,
        "lag": 2,
        "in_flight": 0,
        "last_consumed_at_ms": broker.messages("orders")[0].stored_at_ms,
    }
    (member,) = told["members"]
    assert (member["client_id"], member["language"], member["version"]) == ("client-1", "JAVA", "v5_5_0")
    assert told["subscriptions"] == [{"topic": "orders", "expression_type": "TAG", "expression": "*"}]
    text = terminal.text("group", "show", "billing")
    facts, (members, wanted, queues) = facts_of(text), tables_of(text)
    assert (facts["lag"], facts["message model"], facts["retries at most"]) == ("2", "CLUSTERING", "16")
    assert members == [
        {"client": "client-1", "address": member["address"], "language": "JAVA", "version": "v5_5_0"},
    ]
    assert wanted == [{"topic": "orders", "expression type": "TAG", "expression": "*"}]
    assert [(row["consumer offset"], row["broker offset"], row["lag"]) for row in queues] == [("1", "3", "2")]


def test_a_group_without_members_that_has_read_nothing_is_shown(terminal: Terminal) -> None:
    assert terminal.json("group", "create", "billing") == [SETTINGS]
    text = terminal.text("group", "show", "billing")
    assert text.endswith("no consumer is connected\nit has read nothing yet\n")
    assert facts_of(text)["message model"] == "-"


def test_what_is_not_said_of_a_group_stays(terminal: Terminal) -> None:
    create = ("group", "create", "billing", "--retries-max=3", "--no-broadcast")
    changed = {**SETTINGS, "retries_max": 3, "may_broadcast": False}
    assert terminal.json(*create) == [changed]
    again = terminal.run(*create)
    assert (again.exit_code, again.stderr) == (
        1,
        "Error: 'billing' is there, on broker-a; `escrowmq group update` alters it\n",
    )
    assert terminal.json("group", "update", "billing", "--no-consume") == [{**changed, "may_consume": False}]
    assert terminal.table("group", "update", "billing", "--consume", "--orderly", "--retry-queues=2") == [
        {
            "group": "billing",
            "broker": "broker-a",
            "may consume": "yes",
            "may broadcast": "no",
            "orderly": "yes",
            "retries at most": "3",
            "retry queues": "2",
        }
    ]


@pytest.mark.usefixtures("behind")
def test_a_group_is_moved_back_and_forth(broker: LocalBroker, terminal: Terminal) -> None:
    reset = ("group", "reset", "billing", "--topic=orders", "--yes")
    moved = {"topic": "orders", "broker": "broker-a", "queue_id": 0}
    assert terminal.json(*reset, "--to=latest") == [{**moved, "before": 1, "after": 3}]
    assert offset_of(terminal, "billing") == 3
    assert terminal.table(*reset, "--to=earliest") == [
        {"topic": "orders", "broker": "broker-a", "queue": "0", "before": "3", "after": "0"}
    ]
    broker.clock.advance(seconds=3_600)
    broker.send("orders", b"an hour later")
    time_ms = broker.messages("orders")[-1].stored_at_ms
    assert terminal.json(*reset, f"--to={time_ms}") == [{**moved, "before": 0, "after": 3}]
    assert offset_of(terminal, "billing") == 3


@pytest.mark.usefixtures("behind")
def test_nobody_is_moved_without_agreement(terminal: Terminal) -> None:
    done = terminal.run("group", "reset", "billing", "--topic=orders", "--to=latest")
    assert done.exit_code == 2
    assert "the group billing will go on at latest in orders: say --yes" in done.stderr
    assert offset_of(terminal, "billing") == 1


@pytest.mark.usefixtures("behind")
def test_a_group_goes_on_where_another_one_is(terminal: Terminal) -> None:
    terminal.text("group", "create", "audit")
    (told,) = terminal.json("group", "clone", "billing", "audit", "--yes")
    assert (told["topic"], told["consumer_offset"], told["lag"]) == ("orders", 1, 2)
    (shown,) = terminal.table("group", "clone", "billing", "audit", "--topic=orders", "--yes")
    assert (shown["topic"], shown["consumer offset"], shown["lag"]) == ("orders", "1", "2")
    assert offset_of(terminal, "audit") == 1
    done = terminal.run("group", "clone", "nobody", "audit", "--yes")
    assert (done.exit_code, "has read nothing that could be cloned" in done.stderr) == (3, True)


@pytest.mark.usefixtures("behind")
def test_a_group_is_deleted_with_what_is_its_own(broker: LocalBroker, terminal: Terminal) -> None:
    broker.create_topic("%RETRY%billing")
    assert terminal.run("group", "delete", "billing").exit_code == 2
    kept = terminal.json("group", "delete", "billing", "--keep-offsets", "--keep-topics", "--yes")
    assert kept == {"group": "billing", "brokers": ["broker-a"], "topics": []}
    terminal.text("group", "create", "billing")
    assert offset_of(terminal, "billing") == 1
    deleted = terminal.text("group", "delete", "billing", "--yes")
    assert deleted == "billing is deleted from broker-a, %RETRY%billing too\n"
    assert terminal.json("group", "list") == []
    terminal.text("group", "create", "billing")
    assert terminal.json("group", "show", "billing")["queues"] == []


@pytest.mark.parametrize(
    "command", [("show",), ("update",), ("delete", "--yes"), ("reset", "--topic=orders", "--to=latest", "--yes")]
)
def test_a_group_that_is_not_there_is_not_made(
    broker: LocalBroker, terminal: Terminal, command: tuple[str, ...]
) -> None:
    broker.create_topic("orders")
    done = terminal.run("group", *command, "billing")
    assert done.exit_code == 3
    assert done.stderr == "Error: there is no group 'billing'; `escrowmq group list` shows those that are there\n"
    assert terminal.json("group", "list") == []
