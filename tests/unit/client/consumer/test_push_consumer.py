"""Consumers with handlers, against a broker in this process."""

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.client.consumer.waiting import wait_until

from escrowmq.client.consumer.limits import FetchLimits
from escrowmq.client.consumer.options import PushOptions
from escrowmq.client.consumer.push_consumer import PushConsumer
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.client.consumer.retry_rules import Consumed
from escrowmq.errors import ConfigError
from escrowmq.testing import LocalBroker

GROUP = "billing"
FIRST_RETRY_S = 11


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    wait_until(lambda: not {thread for thread in threading.enumerate() if "escrowmq-client" in thread.name} - before)


def send(broker: LocalBroker, count: int, *, begin: int = 0, tags: str | None = None) -> list[bytes]:
    bodies = [b"%d" % number for number in range(begin, begin + count)]
    for body in bodies:
        broker.send("orders", body, tags=tags)
    return bodies


def test_each_message_is_handled_once_and_a_restarted_member_goes_on_behind_it(escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.create_topic("orders")
    handled: list[ReceivedMessage] = []
    for begin in (0, 10):
        consumer = PushConsumer(escrowmq_broker.name_server, GROUP, on_message=handled.append)
        consumer.subscribe("orders")
        with consumer:
            send(escrowmq_broker, 10, begin=begin)
            wait_until(lambda begin=begin: len(handled) >= begin + 10)  # type: ignore[misc]
    assert Counter(message.body for message in handled) == Counter(b"%d" % number for number in range(20))


def test_what_was_sent_before_a_group_began_is_read_where_it_begins_at_the_beginning(
    escrowmq_broker: LocalBroker,
) -> None:
    escrowmq_broker.create_topic("orders")
    send(escrowmq_broker, 3)
    early, late = _Handled(), _Handled()
    options = PushOptions(start="earliest")
    with (
        _consumer(escrowmq_broker, "early", early, options=options),
        _consumer(escrowmq_broker, "late", late),
    ):
        send(escrowmq_broker, 1, begin=3)
        wait_until(lambda: early.bodies == {b"0", b"1", b"2", b"3"})
        wait_until(lambda: late.bodies == {b"3"})


def test_a_topic_that_is_made_later_is_read_from_its_first_message(escrowmq_broker: LocalBroker) -> None:
    handled = _Handled()
    with _consumer(escrowmq_broker, GROUP, handled):
        escrowmq_broker.create_topic("orders", queues=1)
        send(escrowmq_broker, 2)
        # A route that nobody knew is asked for with the next division of queues.
        wait_until(lambda: handled.bodies == {b"0", b"1"}, deadline_s=40)


def test_batches_are_of_one_queue_and_no_larger_than_asked_for(escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.create_topic("orders", queues=2)
    send(escrowmq_broker, 20)
    batches: list[list[ReceivedMessage]] = []
    consumer = PushConsumer(
        escrowmq_broker.name_server,
        GROUP,
        on_batch=lambda messages: batches.append(list(messages)),
        options=PushOptions(start="earliest", batch_max=4),
    )
    consumer.subscribe("orders")
    with consumer:
        wait_until(lambda: sum(map(len, batches)) == 20)
    assert max(map(len, batches)) == 4
    assert all(len({message.queue for message in batch}) == 1 for batch in batches)


def test_a_message_that_failed_comes_again_and_goes_to_the_dead_letters_in_the_end(
    escrowmq_broker: LocalBroker,
) -> None:
    escrowmq_broker.create_topic("orders")
    seen: list[tuple[str, int]] = []

    def fail(message: ReceivedMessage) -> Consumed:
        seen.append((message.topic, message.reconsume_times))
        if len(seen) == 1:
            raise ValueError("the handler's own")
        return Consumed.RECONSUME_LATER

    with _consumer(escrowmq_broker, GROUP, fail, options=PushOptions(retries_max=1)):
        send(escrowmq_broker, 1)
        wait_until(lambda: len(seen) == 1 and bool(escrowmq_broker.messages("SCHEDULE_TOPIC_XXXX")))
        escrowmq_broker.clock.advance(seconds=FIRST_RETRY_S)
        wait_until(lambda: len(seen) == 2)
        (dead,) = escrowmq_broker.messages(f"%DLQ%{GROUP}", count=1)
    assert seen == [("orders", 0), ("orders", 1)]
    assert dead.body == b"0"


def test_a_message_that_the_broker_does_not_take_back_is_tried_again_here(
    escrowmq_broker: LocalBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("escrowmq.client.consumer.delivering.LOCAL_RETRY_S", 0.05)
    escrowmq_broker.create_topic("orders")
    tried: list[int] = []

    def fail_once(message: ReceivedMessage) -> Consumed | None:
        tried.append(message.reconsume_times)
        return Consumed.RECONSUME_LATER if len(tried) == 1 else None

    escrowmq_broker.drop_next_answer(36)
    options = PushOptions(request_timeout_s=0.2)
    with _consumer(escrowmq_broker, GROUP, fail_once, options=options):
        send(escrowmq_broker, 1)
        wait_until(lambda: tried == [0, 1])


def test_in_order_a_message_that_fails_holds_up_its_queue_and_nothing_overtakes_it(
    escrowmq_broker: LocalBroker,
) -> None:
    escrowmq_broker.create_topic("orders", queues=1)
    seen: list[tuple[bytes, int]] = []

    def fail_twice(message: ReceivedMessage) -> Consumed | None:
        seen.append((message.body, message.reconsume_times))
        return Consumed.RECONSUME_LATER if message.body == b"1" and message.reconsume_times < 2 else None

    options = PushOptions(is_orderly=True, suspend_s=0.02)
    with _consumer(escrowmq_broker, GROUP, fail_twice, options=options):
        send(escrowmq_broker, 4)
        wait_until(lambda: len(seen) == 6)
    assert seen == [(b"0", 0), (b"1", 0), (b"1", 1), (b"1", 2), (b"2", 0), (b"3", 0)]


def test_in_order_a_message_is_given_up_after_its_tries(escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.create_topic("orders", queues=1)
    handled = _Handled()

    def fail(message: ReceivedMessage) -> Consumed | None:
        if message.body == b"0":
            return Consumed.RECONSUME_LATER
        handled(message)
        return None

    options = PushOptions(is_orderly=True, suspend_s=0.02, retries_max=1)
    with _consumer(escrowmq_broker, GROUP, fail, options=options):
        send(escrowmq_broker, 2)
        wait_until(lambda: handled.bodies == {b"1"})
        (dead,) = escrowmq_broker.messages(f"%DLQ%{GROUP}", count=1)
    assert dead.body == b"0"


def test_members_divide_the_queues_and_one_that_goes_leaves_its_own_to_the_others(
    escrowmq_broker: LocalBroker,
) -> None:
    escrowmq_broker.create_topic("orders", queues=4)
    first, second = _Handled(), _Handled()
    with _consumer(escrowmq_broker, GROUP, first) as one:
        with _consumer(escrowmq_broker, GROUP, second) as two:
            wait_until(lambda: len(one.assignment) == len(two.assignment) + 1 == 3)
            assert not set(one.assignment) & set(two.assignment)
            send(escrowmq_broker, 20)
            wait_until(lambda: len(first.messages) + len(second.messages) == 20)
            assert first.bodies.isdisjoint(second.bodies)
            assert second.messages
        wait_until(lambda: len(one.assignment) == 5)
        send(escrowmq_broker, 20, begin=20)
        wait_until(lambda: len(first.messages) + len(second.messages) == 40)
    assert first.bodies | second.bodies == {b"%d" % number for number in range(40)}


def test_orderly_members_hand_queues_over_without_a_message_twice(escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.create_topic("orders", queues=4)
    options = PushOptions(is_orderly=True)
    first, second = _Handled(), _Handled()
    with _consumer(escrowmq_broker, GROUP, first, options=options) as one:
        send(escrowmq_broker, 20)
        wait_until(lambda: len(first.messages) == 20)
        with _consumer(escrowmq_broker, GROUP, second, options=options) as two:
            wait_until(lambda: len(one.assignment) == 3 and len(two.assignment) == 2)
            send(escrowmq_broker, 20, begin=20)
            wait_until(lambda: len(first.messages) + len(second.messages) == 40)
    bodies = [message.body for message in first.messages + second.messages]
    assert Counter(bodies) == Counter(b"%d" % number for number in range(40))


def test_every_broadcasting_member_gets_every_message_and_keeps_its_place_in_a_file(
    escrowmq_broker: LocalBroker, tmp_path: Path
) -> None:
    escrowmq_broker.create_topic("orders", queues=2)

    def options(name: str) -> PushOptions:
        return PushOptions(is_broadcasting=True, offsets_folder=tmp_path, instance_name=name)

    first, second = _Handled(), _Handled()
    with (
        _consumer(escrowmq_broker, GROUP, first, options=options("one")),
        _consumer(escrowmq_broker, GROUP, second, options=options("two")),
    ):
        send(escrowmq_broker, 6)
        wait_until(lambda: len(first.messages) == len(second.messages) == 6)
    assert (tmp_path / "127.0.0.1@one" / GROUP / "offsets.json").read_bytes().startswith(b'{"offsetTable":{{')
    send(escrowmq_broker, 1, begin=6)
    again = _Handled()
    with _consumer(escrowmq_broker, GROUP, again, options=options("one")):
        wait_until(lambda: again.bodies == {b"6"})
    assert len(again.messages) == 1


def test_only_messages_with_the_tags_come_or_those_that_an_expression_wants(escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.create_topic("orders")
    tagged, dear = _Handled(), _Handled()
    by_sql = PushConsumer(escrowmq_broker.name_server, "dear", on_message=dear)
    by_sql.subscribe("orders", sql="amount > 10")
    with _consumer(escrowmq_broker, "tagged", tagged, tags="paid || shipped"), by_sql:
        for body, tag, amount in ((b"0", "paid", "5"), (b"1", "open", "50"), (b"2", "shipped", "11")):
            escrowmq_broker.send("orders", body, tags=tag, properties={"amount": amount})
        wait_until(lambda: tagged.bodies == {b"0", b"2"} and dear.bodies == {b"1", b"2"})


def test_what_is_wanted_may_change_while_it_reads(escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.create_topic("orders")
    escrowmq_broker.create_topic("refunds")
    handled = _Handled()
    with _consumer(escrowmq_broker, GROUP, handled) as consumer:
        consumer.subscribe("refunds")
        wait_until(lambda: any(queue.topic == "refunds" for queue in consumer.assignment))
        escrowmq_broker.send("refunds", b"back")
        wait_until(lambda: handled.bodies == {b"back"})


def test_a_handler_that_is_slow_stops_the_fetching(escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.create_topic("orders", queues=1)
    send(escrowmq_broker, 60)
    may_go_on = threading.Event()
    handled = _Handled()

    def wait(message: ReceivedMessage) -> None:
        may_go_on.wait(10)
        handled(message)

    options = PushOptions(start="earliest", fetch=FetchLimits(count_max=8), pull_count_max=8, handlers_max=2)
    with _consumer(escrowmq_broker, GROUP, wait, options=options) as consumer:
        wait_until(lambda: consumer.fetched_count == 8)
        may_go_on.set()
        wait_until(lambda: len(handled.messages) == 60)
        wait_until(lambda: consumer.fetched_count == 0)


def test_close_waits_for_what_is_being_handled(escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.create_topic("orders")
    has_begun, may_go_on, handled = threading.Event(), threading.Event(), _Handled()

    def wait(message: ReceivedMessage) -> None:
        has_begun.set()
        may_go_on.wait(10)
        handled(message)

    consumer = _consumer(escrowmq_broker, GROUP, wait)
    consumer.start()
    send(escrowmq_broker, 1)
    assert has_begun.wait(10)
    threading.Timer(0.05, may_go_on.set).start()
    assert consumer.close()
    assert handled.bodies == {b"0"}
    again = _Handled()
    with _consumer(escrowmq_broker, GROUP, again):
        send(escrowmq_broker, 1, begin=1)
        wait_until(lambda: bool(again.messages))
    assert again.bodies == {b"1"}


def test_a_handler_that_never_returns_does_not_hold_up_close_and_its_message_comes_again(
    escrowmq_broker: LocalBroker,
) -> None:
    escrowmq_broker.create_topic("orders")
    has_begun, may_end = threading.Event(), threading.Event()

    def hang(_: ReceivedMessage) -> None:
        has_begun.set()
        may_end.wait(30)

    consumer = _consumer(escrowmq_broker, GROUP, hang)
    consumer.start()
    send(escrowmq_broker, 1)
    assert has_begun.wait(10)
    assert not consumer.close(timeout_s=0.05)
    handled = _Handled()
    with _consumer(escrowmq_broker, GROUP, handled):
        wait_until(lambda: handled.bodies == {b"0"})
    may_end.set()
    wait_until(lambda: not any(thread.name.startswith(f"escrowmq-{GROUP}") for thread in threading.enumerate()))


def test_a_broker_that_was_killed_is_read_on_when_it_is_back(escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.create_topic("orders", queues=1)
    handled = _Handled()
    options = PushOptions(error_pause_s=0.1, request_timeout_s=1.0)
    with _consumer(escrowmq_broker, GROUP, handled, options=options):
        send(escrowmq_broker, 1)
        wait_until(lambda: len(handled.messages) == 1)
        escrowmq_broker.kill()
        escrowmq_broker.reopen()
        send(escrowmq_broker, 1, begin=1)
        wait_until(lambda: b"1" in handled.bodies, deadline_s=30)


def test_a_consumer_has_one_handler_and_names_that_groups_can_have() -> None:
    with pytest.raises(ValueError, match="one handler"):
        PushConsumer("127.0.0.1:1", GROUP)
    with pytest.raises(ValueError, match="one handler"):
        PushConsumer("127.0.0.1:1", GROUP, on_message=lambda _: None, on_batch=lambda _: None)
    with pytest.raises(ValueError, match="illegal"):
        PushConsumer("127.0.0.1:1", "no group", on_message=lambda _: None)
    with pytest.raises(ConfigError, match="handlers_max"):
        PushOptions(handlers_max=0)


def test_a_subscription_that_is_none_is_refused_at_once() -> None:
    consumer = PushConsumer("127.0.0.1:1", GROUP, on_message=lambda _: None)
    for topic, tags, sql in (("no topic", "*", ""), ("orders", " || ", ""), ("orders", "paid", "amount > 1")):
        with pytest.raises(ValueError):  # noqa: PT011 - each says something else
            consumer.subscribe(topic, tags, sql=sql)
    assert consumer.close()


class _Handled:
    """A handler that keeps what it got."""

    def __init__(self) -> None:
        self.messages: list[ReceivedMessage] = []

    def __call__(self, message: ReceivedMessage) -> None:
        self.messages.append(message)

    @property
    def bodies(self) -> set[bytes]:
        return {message.body for message in self.messages}


def _consumer(
    broker: LocalBroker,
    group: str,
    handler: object,
    *,
    tags: str = "*",
    options: PushOptions = PushOptions(),  # noqa: B008 - it is frozen
) -> PushConsumer:
    consumer = PushConsumer(broker.name_server, group, on_message=handler, options=options)  # type: ignore[arg-type]
    consumer.subscribe("orders", tags)
    return consumer
