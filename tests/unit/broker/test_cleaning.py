"""What goes with time, when an operator asks for it, and with a deleted topic."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from tests.compat.asking import ask_to_send, send
from tests.compat.broker_process import Client
from tests.unit.broker.desk import Desk, TestStore, heartbeat

from escrowmq import Frame
from escrowmq.errors import TopicInUse
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.testing import LocalBroker

QUERY_OFFSET, COMMIT_OFFSET, HEARTBEAT = 14, 15, 34
UPDATE_SETTINGS, MIN_OFFSET, DELETE_TOPIC = 25, 31, 215
DELETE_GROUP, SHOW_GROUP = 207, 352
CLEAN_QUEUES, CLEAN_TOPICS, DELETE_LOG = 306, 316, 329
DAY_S, ROUND_S, PATIENCE_S = 86_400, 10, 20.0
SEGMENT_BYTES = 65_536


def another_hour() -> int:
    """One that is far from now, whenever the test runs."""
    return (time.localtime().tm_hour + 12) % 24


@pytest.fixture
def broker() -> Iterator[LocalBroker]:
    """One with small log files that are kept for a day and go in an hour that is far."""
    settings = {
        "store.segment_size_bytes": SEGMENT_BYTES,
        "store.retention_age_ms": DAY_S * 1_000,
        "store.retention_hour": another_hour(),
        "store.checkpoint_interval_ms": 10,
        "broker.has_timers": False,
    }
    with LocalBroker(settings=settings) as broker:
        yield broker


@pytest.fixture
def client(broker: LocalBroker) -> Iterator[Client]:
    with Client(broker.address) as client:
        yield client


def fill(client: Client) -> None:
    """Sends more than a log file holds."""
    for _ in range(4):
        send(client, "orders", b"x" * (SEGMENT_BYTES // 3))


def first_offset(client: Client) -> int:
    return int(client.ask(MIN_OFFSET, {"topic": "orders", "queueId": "0"}).ext_fields["offset"])


def await_expiry(client: Client) -> None:
    """Returns when the first messages are gone; the store's housekeeper runs on a thread of its own."""
    deadline_s = time.monotonic() + PATIENCE_S
    while first_offset(client) == 0:
        assert time.monotonic() < deadline_s, "nothing expires"
        time.sleep(0.01)


def test_old_log_files_go_soon_when_an_operator_asks_for_it(broker: LocalBroker, client: Client) -> None:
    fill(client)
    files = set((broker.data / "commitlog").iterdir())
    broker.clock.advance(seconds=DAY_S)
    broker.clock.advance(seconds=ROUND_S)
    assert first_offset(client) == 0, "it is another hour"
    assert client.ask(DELETE_LOG).code == ResponseCode.SUCCESS
    await_expiry(client)
    assert files - set((broker.data / "commitlog").iterdir())
    assert client.ask(CLEAN_QUEUES).code == ResponseCode.SUCCESS
    assert first_offset(client) > 0


def test_old_log_files_go_in_the_hour_that_is_set_also_where_it_is_changed(broker: LocalBroker, client: Client) -> None:
    fill(client)
    broker.clock.advance(seconds=DAY_S)
    hour = time.localtime(broker.clock.wall_ms / 1_000).tm_hour
    assert client.ask(UPDATE_SETTINGS, body=f"deleteWhen={hour:02}".encode()).code == ResponseCode.SUCCESS
    broker.clock.advance(seconds=ROUND_S)
    await_expiry(client)


def test_a_topic_is_deleted_with_its_queues_and_begins_at_0_again(broker: LocalBroker, client: Client) -> None:
    for body in (b"one", b"two"):
        send(client, "orders", body)
    send(client, "payments", b"other")
    assert client.ask(DELETE_TOPIC, {"topic": "orders"}).code == ResponseCode.SUCCESS
    assert not (broker.data / "consumequeue" / "orders").exists()
    assert send(client, "orders", b"three")["queueOffset"] == "0"
    assert [message.body for message in broker.messages("orders", count=1)] == [b"three"]
    broker.kill()
    broker.reopen()
    assert [message.body for message in broker.messages("orders")] == [b"three"]
    assert [message.body for message in broker.messages("payments")] == [b"other"]


def test_queues_without_a_topic_go_and_the_brokers_own_stay() -> None:
    store = TestStore({("orders", 0): [1], ("left", 0): [1], ("left", 3): [2], ("rmq_sys_wheel_timer", 0): [3]})
    desk = Desk(store=store)
    fields = {"topic": "orders", "defaultTopic": "TBW102", "readQueueNums": "1", "writeQueueNums": "1", "perm": "6"}
    assert desk.ask(17, {**fields, "topicFilterType": "SINGLE_TAG"}).code == ResponseCode.SUCCESS
    for _ in range(2):
        assert desk.ask(CLEAN_TOPICS).code == ResponseCode.SUCCESS
    assert set(store.times) == {("orders", 0), ("rmq_sys_wheel_timer", 0)}


def test_a_deletion_that_is_refused_changes_nothing() -> None:
    desk = Desk(store=TestStore({("orders", 0): [1]}))
    desk.context.topics.create([TopicConfig("orders", 1, 1)])
    desk.offsets.committed = {"orders@billing": {0: 1}}
    desk.store.failure = TopicInUse("messages are appended to orders all the time")
    answer = desk.ask(DELETE_TOPIC, {"topic": "orders"})
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "orders" in (answer.remark or "")
    assert desk.store.queue("orders", 0) is not None
    assert desk.context.topics.find("orders") is not None
    assert desk.offsets.committed == {"orders@billing": {0: 1}}
    desk.context.snapshots.publish(desk.fast_lane)
    assert "orders" in desk.fast_lane.topics
    desk.store.failure = None
    assert desk.ask(DELETE_TOPIC, {"topic": "orders"}).code == ResponseCode.SUCCESS
    assert desk.store.queue("orders", 0) is None
    assert desk.context.topics.find("orders") is None
    assert desk.offsets.committed == {}


def test_the_fast_lane_does_not_know_a_topic_while_its_queues_go() -> None:
    desk = Desk(store=TestStore({("orders", 0): [1]}))
    desk.context.topics.create([TopicConfig("orders", 1, 1)])
    desk.context.snapshots.publish(desk.fast_lane)
    assert "orders" in desk.fast_lane.topics
    seen = []
    desk.store.before_deletion = lambda: seen.append("orders" in desk.fast_lane.topics)
    assert desk.ask(DELETE_TOPIC, {"topic": "orders"}).code == ResponseCode.SUCCESS
    assert seen == [False]


@contextmanager
def meanwhile(broker: LocalBroker, ask: Callable[[Client], Frame]) -> Iterator[None]:
    """Two clients ask the same all the time; what is inside begins when each was answered with success."""
    is_over, has_begun = threading.Event(), threading.Barrier(3)

    def run() -> None:
        with Client(broker.address) as client:
            assert ask(client).code == ResponseCode.SUCCESS
            has_begun.wait(PATIENCE_S)
            while not is_over.is_set():
                ask(client)

    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(run) for _ in range(2)]
        has_begun.wait(PATIENCE_S)
        try:
            yield
        finally:
            is_over.set()
        for each in runs:
            each.result(PATIENCE_S)


def test_a_topic_that_producers_send_to_is_deleted_all_the_same(broker: LocalBroker, client: Client) -> None:
    for _ in range(5):
        broker.create_topic("orders", queues=1)
        broker.send("orders", b"old")
        with meanwhile(broker, lambda asking: ask_to_send(asking, "orders", b"x")):
            answer = client.ask(DELETE_TOPIC, {"topic": "orders"})
        assert answer.code == ResponseCode.SUCCESS, answer.remark
        assert b"old" not in [message.body for message in broker.messages("orders")]


def test_an_offset_that_is_committed_while_its_topic_is_deleted_does_not_come_back(
    broker: LocalBroker, client: Client
) -> None:
    assert client.ask(HEARTBEAT, body=heartbeat()).code == ResponseCode.SUCCESS
    queue = {"consumerGroup": "billing", "topic": "orders", "queueId": "0"}
    for _ in range(5):
        broker.create_topic("orders", queues=1)
        broker.send("orders", b"old")
        with meanwhile(broker, lambda asking: asking.ask(COMMIT_OFFSET, {**queue, "commitOffset": "1"})):
            assert client.ask(DELETE_TOPIC, {"topic": "orders"}).code == ResponseCode.SUCCESS
        broker.create_topic("orders", queues=1)
        assert client.ask(QUERY_OFFSET, queue).code == ResponseCode.QUERY_NOT_FOUND
    broker.kill()
    broker.reopen()
    with Client(broker.address) as again:
        assert again.ask(QUERY_OFFSET, queue).code == ResponseCode.QUERY_NOT_FOUND


def test_an_offset_that_is_committed_while_its_group_is_deleted_does_not_come_back(
    broker: LocalBroker, client: Client
) -> None:
    broker.create_topic("orders", queues=1)
    queue = {"consumerGroup": "billing", "topic": "orders", "queueId": "0"}
    for _ in range(5):
        assert client.ask(SHOW_GROUP, {"group": "billing"}).code == ResponseCode.SUCCESS
        with meanwhile(broker, lambda asking: asking.ask(COMMIT_OFFSET, {**queue, "commitOffset": "1"})):
            gone = client.ask(DELETE_GROUP, {"groupName": "billing", "cleanOffset": "true"})
            assert gone.code == ResponseCode.SUCCESS
        assert client.ask(QUERY_OFFSET, queue).code == ResponseCode.QUERY_NOT_FOUND


def test_cleaning_is_asked_of_the_store() -> None:
    desk = Desk()
    assert desk.ask(DELETE_LOG).code == ResponseCode.SUCCESS
    assert desk.ask(CLEAN_QUEUES).code == ResponseCode.SUCCESS
    assert desk.store.cleanings == ["log", "queues"]
