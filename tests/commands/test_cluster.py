"""`escrowmq cluster`, asked of a broker that runs."""

import pytest
from tests.commands.terminal import Terminal, facts_of

from escrowmq.testing import LocalBroker


def test_brokers_are_listed(broker: LocalBroker, terminal: Terminal) -> None:
    (shown,) = terminal.table("cluster", "list")
    (told,) = terminal.json("cluster", "list")
    place = {"cluster": "DefaultCluster", "broker": "broker-a", "address": broker.address}
    assert place.items() <= shown.items()
    assert place.items() <= told.items()
    assert (shown["id"], told["id"], told["problem"]) == ("0", 0, None)


def test_a_broker_has_settings_that_can_be_seen_and_changed(broker: LocalBroker, terminal: Terminal) -> None:
    assert terminal.json("cluster", "config", "get", "broker-a")["autoCreateTopicEnable"] == "true"
    get = ("cluster", "config", "get", broker.address, "brokerName", "noSuchKey")
    assert terminal.facts(*get) == {"brokerName": "broker-a", "noSuchKey": "-"}
    assert terminal.json(*get) == {"brokerName": "broker-a", "noSuchKey": None}
    changed = terminal.facts("cluster", "config", "set", "broker-a", "autoCreateTopicEnable=false")
    assert changed == {"autoCreateTopicEnable": "false"}
    assert terminal.json("cluster", "config", "set", "broker-a", "autoCreateTopicEnable=true") == {
        "autoCreateTopicEnable": "true"
    }


def test_a_setting_that_can_not_be_changed_is_refused(broker: LocalBroker, terminal: Terminal) -> None:
    done = terminal.run("cluster", "config", "set", "broker-a", "brokerName=other")
    assert done.exit_code == 1
    assert done.stderr == (
        f"Error: {broker.address} refuses UPDATE_BROKER_CONFIG: these settings can not be changed while the broker "
        "runs: brokerName (NO_PERMISSION, 16)\n"
    )


def test_name_servers_have_settings_that_can_be_seen_and_changed(broker: LocalBroker, terminal: Terminal) -> None:
    shown = terminal.text("cluster", "namesrv-config", "get", "enableTopicList")
    assert shown.startswith(f"name server {broker.name_server}\n")
    assert facts_of(shown) == {"enableTopicList": "true"}
    assert len(terminal.json("cluster", "namesrv-config", "get")[broker.name_server]) > 5
    changed = terminal.json("cluster", "namesrv-config", "set", "enableTopicList=false")
    assert changed == {broker.name_server: {"enableTopicList": "false"}}
    assert facts_of(terminal.text("cluster", "namesrv-config", "set", "enableTopicList=true")) == {
        "enableTopicList": "true"
    }


def test_writes_are_forbidden_and_allowed_again(broker: LocalBroker, terminal: Terminal) -> None:
    broker.create_topic("orders")
    topics = len(terminal.json("topic", "list", "--all"))
    closed = terminal.text("cluster", "forbid-writes", "broker-a", "--yes")
    assert closed == f"broker-a is closed for {topics} topics\n"
    assert terminal.json("topic", "show", "orders")["places"][0]["permission"] == "r"
    refused = terminal.run("message", "send", "orders", "hello")
    assert (refused.exit_code, "'orders' may be sent to no broker" in refused.stderr) == (3, True)
    assert terminal.json("cluster", "allow-writes", "broker-a") == {"broker": "broker-a", "topics": topics}
    assert terminal.json("topic", "show", "orders")["places"][0]["permission"] == "rw"
    assert terminal.json("cluster", "forbid-writes", "broker-a", "--yes") == {"broker": "broker-a", "topics": topics}
    assert terminal.text("cluster", "allow-writes", "broker-a") == f"broker-a is open for {topics} topics\n"


@pytest.mark.parametrize("command", [("config", "get"), ("status",)])
def test_a_broker_that_is_not_there_is_said_to_be_so(terminal: Terminal, command: tuple[str, ...]) -> None:
    done = terminal.run("cluster", *command, "broker-z")
    assert done.exit_code == 3
    assert done.stderr == (
        "Error: the name server knows no broker 'broker-z' that is a master; "
        "`escrowmq cluster list` shows those that are there\n"
    )


def test_the_next_name_server_is_asked_where_one_is_not_there(broker: LocalBroker) -> None:
    terminal = Terminal(f"127.0.0.1:1; {broker.name_server}")
    assert [state["broker"] for state in terminal.json("cluster", "list")] == ["broker-a"]
    assert [topic["topic"] for topic in terminal.json("topic", "list", "--all") if topic["topic"] == "TBW102"]


@pytest.mark.parametrize("command", ["cluster list", "topic list", "group list", "message read orders"])
def test_a_name_server_that_is_not_there_ends_every_command(command: str) -> None:
    done = Terminal("127.0.0.1:1").run(*command.split())
    assert done.exit_code == 4
    assert done.stdout == ""
    assert done.stderr == (
        "Error: 127.0.0.1:1 can't be reached; look whether a server runs there, and what --namesrv says\n"
    )
