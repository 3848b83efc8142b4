"""A broker in this process: what it does on request, and what is left of it."""

import contextlib
import gc
import itertools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.unit.broker_server.broker import ask, pull, send
from tests.unit.server.peer import Peer

from escrowmq import Frame
from escrowmq.errors import ConfigError, Refused
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.testing import LocalBroker

DAY_S = 86_400
HOUR_S = 3_600
opaques = itertools.count(1_000)
HEARTBEAT = b"""{"clientID":"c1","consumerDataSet":[{"groupName":"all","consumeType":"CONSUME_PASSIVELY",
"messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","subscriptionDataSet":[]}],
"producerDataSet":[]}"""


@pytest.fixture
def broker() -> Iterator[LocalBroker]:
    with LocalBroker() as opened:
        opened.create_topic("orders")
        yield opened


@contextlib.contextmanager
def connected(broker: LocalBroker) -> Iterator[Peer]:
    with Peer(broker.address) as peer:
        yield peer


def route(broker: LocalBroker, topic: str) -> Frame:
    with Peer(broker.name_server) as peer:
        return ask(peer, Frame(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext_fields={"topic": topic}))


def traces() -> tuple[set[str], set[str]]:
    """Descriptors by what they are, but for those of this look; and threads, native ones too."""
    descriptors = set()
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            descriptors.add(f"{path.name} {path.readlink()}")
    return descriptors, {path.name for path in Path("/proc/self/task").iterdir()}


@pytest.mark.parametrize("ending", ["closed", "killed", "poisoned"])
def test_nothing_is_left_of_it(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    # What tests before this one left to the collector is not of this one.
    gc.collect()
    before = traces()
    gc.disable()
    try:
        with LocalBroker() as broker, Peer(broker.address) as peer:
            broker.create_topic("orders")
            assert ask(peer, send(b"one")).code == ResponseCode.SUCCESS
            assert len(broker.messages("orders")) == 1
            if ending == "killed":
                broker.kill()
            if ending == "poisoned":
                broker.fail_next_flush()
                assert ask(peer, send(b"two")).code == ResponseCode.SERVICE_NOT_AVAILABLE
        assert traces() == before
        assert not list(tmp_path.iterdir())
    finally:
        gc.enable()


def test_nothing_is_left_of_one_that_can_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    threads = threading.active_count()
    with pytest.raises(ConfigError):
        LocalBroker(settings={"broker.nmae": "a"})
    with pytest.raises(ConfigError):
        LocalBroker(settings={"broker.host": "::"})
    assert threading.active_count() == threads
    assert not list(tmp_path.iterdir())


def test_a_topic_that_was_made_is_known_to_the_name_server(broker: LocalBroker) -> None:
    broker.create_topic("payments", queues=2)
    answer = route(broker, "payments")
    assert answer.code == ResponseCode.SUCCESS
    assert broker.address.encode() in bytes(answer.body)
    with pytest.raises(Refused, match="contains illegal characters"):
        broker.create_topic("no topic")


def test_messages_are_shown_in_the_order_in_which_they_were_stored(broker: LocalBroker) -> None:
    assert broker.messages("orders") == []
    with connected(broker) as peer:
        for index, queue_id in enumerate([2, 0, 1, 0]):
            ask(peer, send(f"body {index}".encode(), queue_id=queue_id, tags="paid"))
    found = broker.messages("orders")
    assert [(message.body, message.queue_id, message.queue_offset) for message in found] == [
        (b"body 0", 2, 0),
        (b"body 1", 0, 0),
        (b"body 2", 1, 0),
        (b"body 3", 0, 1),
    ]
    assert {(message.topic, message.tags, message.reconsume_times) for message in found} == {("orders", "paid", 0)}
    assert found[0].properties["UNIQ_KEY"] == "7F"
    assert found[0].keys == []


def test_what_is_sent_is_stored_with_its_properties(broker: LocalBroker) -> None:
    broker.send("orders", b"one", tags="paid", keys=["a", "b"], properties={"colour": "red"})
    (message,) = broker.messages("orders")
    assert (message.body, message.tags, message.keys) == (b"one", "paid", ["a", "b"])
    assert message.properties["colour"] == "red"
    with pytest.raises(Refused, match="the message is illegal"):
        broker.send("orders", b"")


def test_an_async_broker_shows_what_it_has_acknowledged() -> None:
    with LocalBroker(flush="async") as broker, connected(broker) as peer:
        broker.create_topic("orders")
        for index in range(100):
            ask(peer, send(b"x"))
            assert len(broker.messages("orders")) == index + 1


def test_settings_are_those_of_the_configuration_file() -> None:
    with LocalBroker(settings={"broker.name": "other", "autoCreateTopicEnable": False}) as broker:
        with connected(broker) as peer:
            assert ask(peer, send(b"one", topic="unknown")).code == ResponseCode.TOPIC_NOT_EXIST
        broker.create_topic("orders")
        assert b'"other"' in bytes(route(broker, "orders").body)


def test_what_is_stored_and_what_is_due_follow_the_clock(broker: LocalBroker) -> None:
    consumers = Frame(RequestCode.GET_CONSUMER_LIST_BY_GROUP, ext_fields={"consumerGroup": "all"})
    with connected(broker) as peer, connected(broker) as other:
        ask(other, send(b"one"))
        peer.send(Frame(RequestCode.HEART_BEAT, body=HEARTBEAT))
        assert len(peer.receive(2)) == 2, "the answer, and that the group has changed"
        assert b"c1" in bytes(ask(other, consumers).body)
        broker.clock.advance(seconds=DAY_S)
        assert b"c1" not in bytes(ask(other, consumers).body)
        assert peer.is_closed()
        ask(other, send(b"two"))
    first, second = broker.messages("orders")
    assert DAY_S * 1_000 <= second.stored_at_ms - first.stored_at_ms <= (DAY_S + 60) * 1_000
    assert abs(broker.clock.wall_ms - second.stored_at_ms) < 60_000
    assert route(broker, "orders").code == ResponseCode.SUCCESS


def test_delayed_messages_and_timers_follow_the_clock(broker: LocalBroker) -> None:
    broker.send("orders", b"delayed", properties={"DELAY": "18"})
    broker.send("orders", b"timed", properties={"TIMER_DELAY_SEC": "3600"})
    assert broker.messages("orders") == []
    broker.clock.advance(seconds=2 * HOUR_S)
    found = broker.messages("orders", count=2)
    assert sorted(message.body for message in found) == [b"delayed", b"timed"]


def test_who_waits_for_messages_that_do_not_come_is_told(broker: LocalBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("escrowmq.testing.local_broker._DELIVERY_MAX_S", 0.05)
    broker.send("orders", b"one")
    with pytest.raises(TimeoutError, match="has 1 messages, not 2"):
        broker.messages("orders", count=2)


def test_a_clock_goes_far_but_not_back(broker: LocalBroker) -> None:
    before_ms = broker.clock.wall_ms
    broker.clock.advance(seconds=100 * DAY_S)
    assert broker.clock.wall_ms - before_ms >= 100 * DAY_S * 1_000
    with pytest.raises(ValueError, match="go back"):
        broker.clock.advance(seconds=-1)


@pytest.mark.parametrize(
    "request_of",
    [
        pytest.param(lambda: send(b"one"), id="fast lane"),
        pytest.param(lambda: send(b"one", kind="binary"), id="fast lane, binary"),
        pytest.param(lambda: send(b"one", topic="new"), id="given back by Python"),
        pytest.param(lambda: Frame(RequestCode.GET_ALL_TOPIC_CONFIG, opaque=next(opaques)), id="Python"),
    ],
)
def test_an_answer_is_dropped_once(broker: LocalBroker, request_of: Callable[[], Frame]) -> None:
    dropped, answered, after = request_of(), request_of(), pull(0)
    broker.drop_next_answer(dropped.code)
    with connected(broker) as peer:
        peer.send(dropped, answered, after)
        answers = peer.receive(2)
    assert {answer.opaque for answer in answers} == {answered.opaque, after.opaque}


def test_what_was_not_answered_was_carried_out(broker: LocalBroker) -> None:
    broker.drop_next_answer(RequestCode.SEND_MESSAGE_V2)
    with connected(broker) as peer:
        peer.send(send(b"unanswered"), send(b"answered"))
        peer.receive(1)
    assert [message.body for message in broker.messages("orders")] == [b"unanswered", b"answered"]


def test_what_was_acknowledged_survives_a_kill(broker: LocalBroker) -> None:
    address = broker.address
    with connected(broker) as peer:
        for index in range(20):
            ask(peer, send(b"%d" % index))
        broker.kill()
        assert peer.is_closed()
        assert (broker.data / "abort").exists()
        with pytest.raises(RuntimeError, match="killed"):
            broker.messages("orders")
        with pytest.raises(RuntimeError, match="killed"):
            broker.kill()
    broker.reopen()
    assert broker.address == address
    assert [message.body for message in broker.messages("orders")] == [b"%d" % index for index in range(20)]
    with connected(broker) as peer:
        assert ask(peer, send(b"20")).ext_fields["queueOffset"] == "20"
    assert route(broker, "orders").code == ResponseCode.SUCCESS
    with pytest.raises(RuntimeError, match="open"):
        broker.reopen()


def test_after_a_flush_that_failed_nothing_is_acknowledged_until_it_is_opened_again(broker: LocalBroker) -> None:
    with connected(broker) as peer:
        broker.fail_next_flush()
        assert ask(peer, send(b"one")).code == ResponseCode.SERVICE_NOT_AVAILABLE
        assert ask(peer, send(b"two")).code == ResponseCode.SERVICE_NOT_AVAILABLE
    broker.kill()
    broker.reopen()
    with connected(broker) as peer:
        assert ask(peer, send(b"three")).code == ResponseCode.SUCCESS
    assert broker.messages("orders")[-1].body == b"three"


def test_one_key_is_a_key(broker: LocalBroker) -> None:
    broker.send("orders", b"one", keys="order-1")
    broker.send("orders", b"two", keys=["order-1", "order-2"])
    keys = {message.body: message.properties["KEYS"] for message in broker.messages("orders", count=2)}
    assert keys == {b"one": "order-1", b"two": "order-1 order-2"}
