"""Queues that a consumer has for itself."""

import json

import pytest
from tests.unit.broker.desk import Desk, heartbeat

from escrowmq.broker import locks
from escrowmq.broker.locks import LEASE_MS
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol.response_codes import ResponseCode

LOCK, UNLOCK = 41, 42


def desk_with_ledger() -> Desk:
    """A broker with a topic of nine queues."""
    desk = Desk()
    desk.context.topics.create([TopicConfig("ledger", 9, 9)])
    return desk


def body(client: str, *queues: int, group: str = "auditors") -> bytes:
    """The body of either request."""
    wanted = [{"brokerName": "broker-a", "queueId": queue, "topic": "ledger"} for queue in queues]
    return json.dumps({"clientId": client, "consumerGroup": group, "mqSet": wanted, "onlyThisBroker": False}).encode()


def locked(desk: Desk, client: str, *queues: int, group: str = "auditors") -> list[int]:
    """The queues that a client has after asking for some."""
    answer = desk.ask(LOCK, body=body(client, *queues, group=group))
    return [queue["queueId"] for queue in json.loads(answer.body)["lockOKMQSet"]]


def test_a_queue_has_one_owner_in_a_group() -> None:
    desk = desk_with_ledger()
    assert locked(desk, "one", 0, 1) == [0, 1]
    assert locked(desk, "two", 1, 2) == [2]
    assert locked(desk, "two", 0, group="others") == [0]


def test_a_lease_ends_when_it_is_not_renewed() -> None:
    desk = desk_with_ledger()
    locked(desk, "one", 0, 1)
    desk.now_ms += LEASE_MS
    assert locked(desk, "one", 0) == [0]
    assert locked(desk, "two", 0, 1) == []
    desk.now_ms += 1
    assert locked(desk, "two", 0, 1) == [1]


def test_who_unlocks_gives_up_its_own_only() -> None:
    desk = desk_with_ledger()
    locked(desk, "one", 0)
    desk.ask(UNLOCK, body=body("two", 0))
    assert locked(desk, "two", 0) == []
    desk.ask(UNLOCK, body=body("one", 0))
    assert locked(desk, "two", 0) == [0]


def test_leases_that_are_over_are_forgotten() -> None:
    desk = desk_with_ledger()
    locked(desk, "one", 0)
    locked(desk, "one", 0, group="others")
    desk.context.locks.expire(now_ms=desk.now_ms + LEASE_MS)
    assert locked(desk, "two", 0) == []
    desk.context.locks.expire(now_ms=desk.now_ms + LEASE_MS + 1)
    assert locked(desk, "two", 0) == [0]


def test_so_many_queues_are_locked_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "LEASES_MAX", 2)
    desk = desk_with_ledger()
    assert locked(desk, "one", 0, 1, 2) == [0, 1]
    desk.ask(UNLOCK, body=body("one", 0))
    assert locked(desk, "two", 5, 6) == [5]
    desk.context.locks.expire(now_ms=desk.now_ms + LEASE_MS + 1)
    assert locked(desk, "two", 6, 7, 8) == [6, 7]


def test_only_queues_that_this_broker_has_are_locked() -> None:
    desk = desk_with_ledger()
    desk.ask(34, body=heartbeat(group="auditors"))
    queues = [
        ("broker-a", "ledger", 8),
        ("broker-a", "%RETRY%auditors", 0),
        ("broker-a", "ledger", 9),
        ("broker-a", "ledger", -1),
        ("broker-a", "invented", 0),
        ("broker-b", "ledger", 0),
    ]
    wanted = [{"brokerName": broker, "topic": topic, "queueId": queue} for broker, topic, queue in queues]
    request = {"clientId": "10.0.0.1@12345#67890", "consumerGroup": "auditors", "mqSet": wanted}
    answer = desk.ask(LOCK, body=json.dumps(request).encode())
    assert json.loads(answer.body)["lockOKMQSet"] == wanted[:2]


def test_the_names_of_who_locks_have_a_length() -> None:
    desk = desk_with_ledger()
    assert desk.ask(LOCK, body=body("c" * 255, 0)).code == ResponseCode.SUCCESS
    assert desk.ask(LOCK, body=body("c" * 256, 1)).code == ResponseCode.SYSTEM_ERROR
    assert desk.ask(LOCK, body=body("one", 1, group="g" * 256)).code == ResponseCode.SYSTEM_ERROR
    assert locked(desk, "two", 0, 1) == [1]
