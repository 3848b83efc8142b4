"""Our command line against a real Apache name server and broker."""

from functools import partial
from pathlib import Path

import pytest
from tests.commands.terminal import Terminal
from tests.compat.broker_process import Client
from tests.compat.name_server_process import await_value
from tests.interop.apache import BROKER_NAME, CLUSTER_NAME, Apache
from tests.interop.installation import Installation
from tests.unit.broker.desk import heartbeat

from escrowmq.protocol.request_codes import RequestCode

pytestmark = pytest.mark.timeout(600)


@pytest.mark.short
def test_our_commands_work_with_apaches_servers(installation: Installation, tmp_path: Path) -> None:
    """A topic's life: made, sent to, read, consumed by groups that are moved, and deleted; mqadmin agrees."""
    with Apache(installation, tmp_path / "store", scratch=tmp_path) as apache:
        terminal = Terminal(apache.name_server_address)
        look_at_the_cluster(terminal, apache)
        make_topic(terminal)
        messages_are_sent_and_found(terminal)
        groups_are_made_and_moved(terminal, apache)
        mqadmin_agrees(apache)
        assert terminal.json("topic", "delete", "orders", "--yes")["brokers"] == [BROKER_NAME]
        assert terminal.json("group", "delete", "audit", "--yes")["brokers"] == [BROKER_NAME]
        assert terminal.run("topic", "show", "orders").exit_code == 3
        assert [group["group"] for group in terminal.json("group", "list")] == ["billing"]


def look_at_the_cluster(terminal: Terminal, apache: Apache) -> None:
    # Apache's broker fails to tell how it is until it has been counting for a second.
    await_value(lambda: [broker["version"] for broker in terminal.json("cluster", "list")], ["V5_5_0"])
    (broker,) = terminal.json("cluster", "list")
    assert (broker["cluster"], broker["broker"]) == (CLUSTER_NAME, BROKER_NAME)
    assert (broker["address"], broker["problem"]) == (apache.broker_address, None)
    assert 0 < broker["disk_used_ratio"] <= 1
    assert terminal.table("cluster", "list")[0]["version"] == "V5_5_0"
    assert terminal.json("cluster", "status", BROKER_NAME)["brokerVersionDesc"] == "V5_5_0"
    changed = terminal.json("cluster", "config", "set", BROKER_NAME, "waitTimeMillsInSendQueue=250")
    assert changed == {"waitTimeMillsInSendQueue": "250"}
    (settings,) = terminal.json("cluster", "namesrv-config", "set", "enableTopicList=true").values()
    assert settings == {"enableTopicList": "true"}


def make_topic(terminal: Terminal) -> None:
    (made,) = terminal.json("topic", "create", "orders", "--queues=2", "--type=NORMAL")
    assert (made["read_queues"], made["attributes"]) == (2, {"message.type": "NORMAL"})
    # Apache's broker tells its name server of a topic after it has answered.
    await_value(lambda: [topic["topic"] for topic in terminal.json("topic", "list")], ["orders"])
    closed = terminal.json("cluster", "forbid-writes", BROKER_NAME, "--yes")
    assert terminal.json("cluster", "allow-writes", BROKER_NAME) == closed


def messages_are_sent_and_found(terminal: Terminal) -> None:
    sent = [
        terminal.json("message", "send", "orders", f"debit {number}", "--tag=paid", "--key=k1", f"--queue={number % 2}")
        for number in range(4)
    ]
    for how in ((sent[1]["message_id"], "--topic=orders"), (sent[1]["offset_id"],)):
        # Apache's broker builds its index after it has answered.
        await_value(partial(exit_code, terminal, "message", "show", *how), 0)
        assert [one["body"] for one in terminal.json("message", "show", *how)] == ["debit 1"]
    (placed,) = terminal.json("message", "show", "--topic=orders", "--queue=1", "--offset=1")
    assert placed["body"] == "debit 3"
    assert len(terminal.json("message", "find", "orders", "k1")) == 4
    lines = terminal.text("message", "read", "orders", "--tag=paid").splitlines()
    assert [line.rpartition("  ")[2] for line in lines] == [f"debit {number}" for number in range(4)]
    followed = terminal.text("message", "read", "orders", "--follow", "--from=earliest", "--max=4").splitlines()
    assert sorted(followed) == sorted(lines)
    assert [queue["messages"] for queue in terminal.json("topic", "show", "orders")["queues"]] == [2, 2]


def groups_are_made_and_moved(terminal: Terminal, apache: Apache) -> None:
    for group in ("billing", "audit"):
        (made,) = terminal.json("group", "create", group, "--retries-max=3")
        assert made["retries_max"] == 3
    with Client(apache.broker_address) as client:
        client.ask(RequestCode.HEART_BEAT, body=heartbeat("client-1"))
        fields = {"consumerGroup": "billing", "topic": "orders", "queueId": "0", "commitOffset": "1"}
        client.ask(RequestCode.UPDATE_CONSUMER_OFFSET, fields)
        shown = terminal.json("group", "show", "billing")
        assert [member["client_id"] for member in shown["members"]] == ["client-1"]
        orders = [(queue["consumer_offset"], queue["lag"]) for queue in shown["queues"] if queue["topic"] == "orders"]
        assert orders == [(1, 1), (0, 2)]
    reset = ("group", "reset", "billing", "--topic=orders", "--yes")
    assert [moved["after"] for moved in terminal.json(*reset, "--to=latest")] == [2, 2]
    assert [moved["after"] for moved in terminal.json(*reset, "--to=earliest")] == [0, 0]
    assert [moved["after"] for moved in terminal.json(*reset, "--to=1h")] == [0, 0]
    cloned = terminal.json("group", "clone", "billing", "audit", "--topic=orders", "--yes")
    assert {(lag["topic"], lag["consumer_offset"]) for lag in cloned} == {("orders", 0)}


def exit_code(terminal: Terminal, *arguments: str) -> int:
    return terminal.run(*arguments).exit_code


def mqadmin_agrees(apache: Apache) -> None:
    assert "orders" in apache.admin("topicList")
    status = [line.split()[:4] for line in apache.admin("topicStatus", "-t", "orders").splitlines()]
    assert [BROKER_NAME, "0", "0", "2"] in status
    assert [BROKER_NAME, "1", "0", "2"] in status
