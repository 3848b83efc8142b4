"""Our consumers against Apache's broker: what Java sends arrives, in groups, in order, and again after failures."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.interop.apache import Apache, declare_topics
from tests.interop.installation import Installation

from escrowmq.client import Consumed, PullConsumer, PullOptions, PushConsumer, PushOptions, ReceivedMessage

pytestmark = pytest.mark.timeout(180)

TOPIC = "orders"
DEADLINE_S = 60


@pytest.fixture
def apache(installation: Installation, tmp_path: Path) -> Iterator[Apache]:
    store = tmp_path / "store"
    declare_topics(store, {TOPIC: 4})
    with Apache(installation, store, scratch=tmp_path) as apache:
        yield apache


@pytest.mark.short
def test_what_java_sends_is_consumed_once_by_a_group_of_ours_and_fails_and_comes_again(apache: Apache) -> None:
    sent = _keys_in_topic(apache, apache.produce(TOPIC, rounds=4, prefix="java"))
    seen: list[ReceivedMessage] = []

    def fail_first(message: ReceivedMessage) -> Consumed | None:
        seen.append(message)
        return Consumed.RECONSUME_LATER if len(seen) == 1 else None

    options = PushOptions(start="earliest")
    consumer = PushConsumer(apache.name_server_address, "billing", on_message=fail_first, options=options)
    consumer.subscribe(TOPIC)
    with consumer:
        _wait_until(lambda: len(seen) == len(sent) + 1)
    again = [message for message in seen if message.reconsume_times]
    assert [message.message_id for message in again] == [seen[0].message_id]
    assert again[0].topic == TOPIC
    assert Counter(message.message_id for message in seen) == Counter([*sent, seen[0].message_id])
    pull = PullConsumer(apache.name_server_address, "reading", options=PullOptions(start="earliest"))
    pull.subscribe(TOPIC)
    with pull:
        read = {message.message_id for _, message in zip(range(len(sent)), pull, strict=False)}
    assert read == set(sent)


def test_members_of_a_group_in_order_divide_the_queues_and_broadcasting_ones_get_everything(
    apache: Apache, tmp_path: Path
) -> None:
    sent = _keys_in_topic(apache, apache.produce(TOPIC, rounds=4, prefix="java"))
    ordered: list[ReceivedMessage] = []
    everything: dict[str, list[ReceivedMessage]] = {"one": [], "two": []}

    def member(group: str, seen: list[ReceivedMessage], options: PushOptions) -> PushConsumer:
        consumer = PushConsumer(apache.name_server_address, group, on_message=seen.append, options=options)
        consumer.subscribe(TOPIC)
        return consumer

    in_order = PushOptions(start="earliest", is_orderly=True)
    broadcasting = [
        PushOptions(start="earliest", is_broadcasting=True, offsets_folder=tmp_path, instance_name=name)
        for name in everything
    ]
    with member("ordered", ordered, in_order) as one, member("ordered", ordered, in_order) as two:
        _wait_until(lambda: len(ordered) == len(sent))
        _wait_until(lambda: len([queue for queue in one.assignment if queue.topic == TOPIC]) == 2)
        assert not set(one.assignment) & set(two.assignment)
    with (
        member("news", everything["one"], broadcasting[0]),
        member("news", everything["two"], broadcasting[1]),
    ):
        _wait_until(lambda: all(len(seen) == len(sent) for seen in everything.values()))
    by_queue: dict[object, list[int]] = {}
    for message in ordered:
        by_queue.setdefault(message.queue, []).append(message.queue_offset)
    assert all(offsets == sorted(offsets) for offsets in by_queue.values())


def _keys_in_topic(apache: Apache, _sent: object) -> list[str]:
    """The ids of the messages in the topic, as Java finds them."""
    return [str(row["properties"]["UNIQ_KEY"]) for row in apache.dump(TOPIC)]


def _wait_until(is_so: Callable[[], bool]) -> None:
    until_s = time.monotonic() + DEADLINE_S
    while not is_so():
        if time.monotonic() >= until_s:
            raise TimeoutError(f"it is not so after {DEADLINE_S} s")
        time.sleep(0.01)
