"""The fast lane end to end: sockets, store and Python's end of the other lane."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, get_args

import pytest
from tests.unit.broker_server.broker import (
    LOOPBACK,
    ORDERS,
    STORE,
    Flush,
    HeaderKind,
    ask,
    connected,
    pull,
    send,
    started,
)
from tests.unit.server.peer import PATIENCE_S, Peer

from escrowmq import (
    Answer,
    BrokerServer,
    Frame,
    GroupEntry,
    LogVisible,
    Message,
    Request,
    Store,
    SubscriptionEntry,
    TopicEntry,
    decode_records,
)
from escrowmq.errors import BadFrame

SYSTEM_ERROR, SERVICE_NOT_AVAILABLE, PULL_NOT_FOUND = 1, 14, 19


def bodies(answer: Frame) -> list[bytes]:
    return [bytes(record.body) for record in decode_records(answer.body)]


def fetch_request(server: BrokerServer) -> Request:
    while True:
        events = server.next_batch(count_max=1, timeout_s=PATIENCE_S)
        assert events, "no request came"
        if isinstance(events[0], Request):
            return events[0]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def wait_until_parked(server: BrokerServer, count: int) -> None:
    wait_until(lambda: server.fast_lane_statistics().pulls_parked == count)


def wait_until_settled(server: BrokerServer) -> None:
    wait_until(lambda: server.statistics().bytes_in_flight == 0)


@pytest.mark.parametrize("kind", get_args(HeaderKind))
@pytest.mark.parametrize("flush", get_args(Flush))
def test_a_message_goes_from_a_producer_to_a_consumer_without_python(
    tmp_path: Path, kind: HeaderKind, flush: Flush
) -> None:
    with started(tmp_path, flush=flush) as server, connected(server) as producer, connected(server) as consumer:
        stored = ask(producer, send(b"hello", kind=kind))
        assert stored.code == 0
        assert stored.ext_fields == {
            "msgId": "7F00000100002A9F0000000000000000",
            "queueId": "0",
            "queueOffset": "0",
            "transactionId": "7F",
            "MSG_REGION": "DefaultRegion",
            "TRACE_ON": "true",
        }
        found = ask(consumer, pull(0, suspend_ms=15_000, kind=kind))
        assert (found.code, found.remark, bodies(found)) == (0, "FOUND", [b"hello"])
        (record,) = decode_records(found.body)
        assert record.properties["CLUSTER"] == "c"
        assert server.next_batch(timeout_s=0.0, count_max=9)[2:] == [], "Python saw connections and nothing else"


def test_a_consumer_that_waits_is_woken_by_what_it_wants(tmp_path: Path) -> None:
    with started(tmp_path) as server, connected(server) as producer, connected(server) as consumer:
        waiting = pull(0, group="billing", suspend_ms=15_000)
        consumer.send(waiting)
        wait_until_parked(server, 1)
        ask(producer, send(b"not this", tags="created"))
        ask(producer, send(b"nor this", queue_id=1))
        assert server.fast_lane_statistics().pulls_parked == 1
        ask(producer, send(b"but this"))
        (found,) = consumer.receive()
        assert (found.opaque, bodies(found)) == (waiting.opaque, [b"but this"])
        assert found.ext_fields["nextBeginOffset"] == "2"


def test_what_python_appends_wakes_consumers_too(tmp_path: Path) -> None:
    with (
        Store.open(tmp_path, **STORE) as store,
        BrokerServer.start(store, [LOOPBACK], broker_name="a", cluster_name="c") as server,
        connected(server) as consumer,
    ):
        server.set_topics({"orders": ORDERS})
        server.set_groups({"all": GroupEntry()})
        server.set_subscriptions({("all", "orders"): SubscriptionEntry(version=5)})
        consumer.send(pull(0, suspend_ms=15_000))
        wait_until_parked(server, 1)
        store.append([Message("orders", b"from python")])
        (found,) = consumer.receive()
        assert bodies(found) == [b"from python"]


def test_a_pull_that_waited_in_vain_is_answered_at_its_time(tmp_path: Path) -> None:
    with started(tmp_path) as server, connected(server) as consumer:
        begin = time.monotonic()
        answer = ask(consumer, pull(0, suspend_ms=50))
        assert time.monotonic() - begin >= 0.05
        assert (answer.code, answer.remark) == (PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE")


def test_a_consumer_that_leaves_is_forgotten(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        with connected(server) as consumer:
            consumer.send(pull(0, suspend_ms=15_000), pull(0, queue_id=1, suspend_ms=15_000))
            wait_until_parked(server, 2)
        wait_until_parked(server, 0)


def test_sends_are_acknowledged_in_order_and_after_their_flush(tmp_path: Path) -> None:
    """Pipelines sends of several producers in sync mode: each is acknowledged once, in order, when it is on disk."""
    count = 200

    def produce(peer: Peer) -> None:
        frames = [send(b"x" * 100, queue_id=index % 4) for index in range(count)]
        peer.send(*frames)
        answers = peer.receive(count)
        assert [answer.opaque for answer in answers] == [frame.opaque for frame in frames]
        assert {answer.code for answer in answers} == {0}
        end = int(answers[-1].ext_fields["msgId"][16:], 16)
        assert store.durable_end > end

    with (
        Store.open(tmp_path, flush="sync", **STORE) as store,
        BrokerServer.start(store, [LOOPBACK], broker_name="a", cluster_name="c") as server,
    ):
        server.set_topics({"orders": ORDERS})
        peers = [connected(server) for _ in range(3)]
        threads = [threading.Thread(target=produce, args=(peer,)) for peer in peers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        statistics = server.fast_lane_statistics()
        assert (statistics.sends, statistics.sends_waiting) == (3 * count, 0)
        assert sum(queue.max_offset for queue in store.queues()) == 3 * count
        for peer in peers:
            peer.socket.close()


def test_a_server_that_closes_acknowledges_all_that_it_has_stored(tmp_path: Path) -> None:
    with Store.open(tmp_path, flush="sync", **STORE) as store:
        server = BrokerServer.start(store, [LOOPBACK], broker_name="a", cluster_name="c")
        server.set_topics({"orders": ORDERS})
        with connected(server) as producer:
            producer.send(*(send(b"x" * 100) for _ in range(500)))
            wait_until(lambda: server.fast_lane_statistics().sends > 0)
            server.close()
            answers = producer.receive(500)
        acknowledged = [answer for answer in answers if answer.code == 0]
        assert {answer.code for answer in answers} <= {0, SERVICE_NOT_AVAILABLE}
        assert len(acknowledged) == sum(queue.max_offset for queue in store.queues())


def test_a_topic_that_python_makes_on_demand_is_served_by_the_fast_lane(tmp_path: Path) -> None:
    with started(tmp_path) as server, connected(server) as producer:
        frame = send(b"first", topic="fresh")
        producer.send(frame)
        request = fetch_request(server)
        assert request.ext_fields["b"] == "fresh"
        server.set_topics({"orders": ORDERS, "fresh": ORDERS})
        server.answer([(request, Answer.RETRY)])
        (answer,) = producer.receive()
        assert (answer.opaque, answer.code) == (frame.opaque, 0)
        assert ask(producer, send(b"second", topic="fresh")).ext_fields["queueOffset"] == "1"
        with pytest.raises(ValueError, match="answered"):
            server.answer([(request, Answer.RETRY)])
        assert server.fast_lane_statistics().retries == 1
        wait_until_settled(server)


def test_a_request_that_is_given_back_in_vain_fails_and_does_not_come_again(tmp_path: Path) -> None:
    with started(tmp_path) as server, connected(server) as producer:
        producer.send(send(b"lost", topic="nowhere"))
        server.answer([(fetch_request(server), Answer.RETRY)])
        (answer,) = producer.receive()
        assert answer.code == SYSTEM_ERROR
        assert server.next_batch(timeout_s=0.0) == []


def test_a_one_way_send_that_is_given_back_is_stored(tmp_path: Path) -> None:
    with started(tmp_path) as server, connected(server) as producer:
        producer.send(send(b"one way", topic="fresh", flag=2))
        request = fetch_request(server)
        server.set_topics({"orders": ORDERS, "fresh": ORDERS})
        server.answer([(request, Answer.RETRY)])
        answer = ask(producer, send(b"two way", topic="fresh"))
        assert answer.ext_fields["queueOffset"] == "1"
        wait_until_settled(server)


def test_python_answers_what_the_fast_lane_does_not_know(tmp_path: Path) -> None:
    with started(tmp_path) as server, connected(server) as peer:
        peer.send(Frame(34, opaque=9, body=b"{}"))
        request = fetch_request(server)
        server.answer([(request, Answer(0, ext_fields={"a": "b"}))])
        (answer,) = peer.receive()
        assert (answer.opaque, answer.code, answer.ext_fields) == (9, 0, {"a": "b"})


def test_messages_from_before_the_start_are_read_by_the_reader_thread(tmp_path: Path) -> None:
    with started(tmp_path) as server, connected(server) as producer:
        for index in range(50):
            ask(producer, send(b"%d" % index, tags="paid" if index % 2 else "created"))
        assert server.fast_lane_statistics().cold_reads == 0
    with started(tmp_path) as server, connected(server) as consumer:
        found = ask(consumer, pull(0))
        assert bodies(found) == [b"%d" % index for index in range(32)]
        found = ask(consumer, pull(0, group="billing", suspend_ms=15_000))
        assert bodies(found) == [b"%d" % index for index in range(1, 50, 2)]
        assert server.fast_lane_statistics().cold_reads == 2
        ask(consumer, send(b"new"))
        assert bodies(ask(consumer, pull(50))) == [b"new"]
        statistics = server.fast_lane_statistics()
        assert (statistics.cold_reads, statistics.pulls, statistics.messages_pulled) == (2, 3, 32 + 25 + 1)


def test_consumer_offsets_are_committed_asked_for_kept_and_removed(tmp_path: Path) -> None:
    with started(tmp_path) as server, connected(server) as consumer:
        fields = {"consumerGroup": "billing", "topic": "orders", "queueId": "2"}
        before = server.consumer_offsets_version()
        assert ask(consumer, Frame(15, opaque=1, ext_fields={**fields, "commitOffset": "7"})).code == 0
        assert server.consumer_offsets_version() > before
        assert ask(consumer, Frame(14, opaque=2, ext_fields=fields)).ext_fields == {"offset": "7"}
        assert server.consumer_offset("billing", "orders", 2) == 7
        assert server.consumer_offset("billing", "orders", 3) is None
        server.commit_consumer_offset("billing", "orders", 3, 9)
        assert server.consumer_offsets() == {"orders@billing": {2: 7, 3: 9}}
        server.load_consumer_offsets({"orders@all": {0: 1}, "orders@billing": {0: 2}})
        assert server.consumer_offsets() == {"orders@all": {0: 1}, "orders@billing": {0: 2}}
        assert server.remove_consumer_offsets(group="billing") == 1
        assert server.remove_consumer_offsets(topic="orders") == 1
        assert server.consumer_offsets() == {}
        with pytest.raises(ValueError, match="neither"):
            server.remove_consumer_offsets()


def test_a_reset_group_is_told_by_its_next_pull(tmp_path: Path) -> None:
    with started(tmp_path) as server, connected(server) as peer:
        for _ in range(3):
            ask(peer, send(b"x"))
        server.reset_consumer_offset("all", "orders", 0, 1)
        moved = ask(peer, pull(3))
        assert (moved.code, moved.remark, moved.ext_fields["nextBeginOffset"]) == (21, "OFFSET_RESET", "1")
        assert len(bodies(ask(peer, pull(1)))) == 2


def test_a_server_listens_to_its_store_for_good(tmp_path: Path) -> None:
    with Store.open(tmp_path, **STORE) as store:
        with BrokerServer.start(store, [LOOPBACK], broker_name="a", cluster_name="c"):
            pass
        with pytest.raises(ValueError, match="the store has, or had, a server"):
            BrokerServer.start(store, [LOOPBACK], broker_name="a", cluster_name="c")


def test_a_store_that_closes_first_refuses_what_comes_after(tmp_path: Path) -> None:
    store = Store.open(tmp_path, **STORE)
    with BrokerServer.start(store, [LOOPBACK], broker_name="a", cluster_name="c") as server, connected(server) as peer:
        server.set_topics({"orders": ORDERS})
        assert ask(peer, send(b"in time")).code == 0
        store.close()
        assert ask(peer, send(b"too late")).code == 14


def test_entries_are_values() -> None:
    assert TopicEntry(read_queue_count=4, write_queue_count=4, permission=6) == ORDERS
    assert TopicEntry(read_queue_count=4, write_queue_count=4, permission=6, is_ordered=True) != ORDERS
    assert GroupEntry() == GroupEntry(is_consume_enabled=True)
    entry = SubscriptionEntry(version=3, codes=[2, 1, 2])
    assert (entry.version, entry.expression_type, entry.codes) == (3, "TAG", frozenset({1, 2}))
    assert SubscriptionEntry(version=3).codes is None
    assert entry == SubscriptionEntry(version=3, codes=(1, 2))


APPENDED: Final = 1_000
"""A request code that the fast lane does not know."""


@pytest.mark.parametrize("flush", get_args(Flush))
def test_answers_to_what_python_appends_go_out_when_it_can_be_read(tmp_path: Path, flush: Flush) -> None:
    with (
        Store.open(tmp_path, flush=flush, **STORE) as store,
        BrokerServer.start(store, [LOOPBACK], broker_name="a", cluster_name="c") as server,
        connected(server) as producer,
        connected(server) as other,
    ):
        server.set_topics({"orders": ORDERS})
        for peer in (producer, other, producer, other):
            peer.send(Frame(APPENDED, opaque=7))
        requests = [fetch_request(server) for _ in range(4)]
        receipts = store.append([Message("orders", b"%d" % number) for number in range(4)])
        ends = [receipt.end_offset for receipt in receipts]
        # In any order, and with sends of the fast lane between them.
        answers = [Answer(0, ext_fields={"end": str(end)}, body=b"b" * 5_000, after=end) for end in ends]
        producer.send(send(b"of the fast lane"))
        server.answer(list(zip(reversed(requests), reversed(answers), strict=True)))
        for answer in (*other.receive(2), *producer.receive(3)):
            assert (answer.code, answer.flag) == (0, 1)
            if "end" in answer.ext_fields and flush == "sync":
                assert len(answer.body) == 5_000
                assert store.visible_end >= int(answer.ext_fields["end"])
        wait_until_settled(server)
        assert server.fast_lane_statistics().sends_waiting == 0


def test_an_answer_whose_flush_takes_too_long_says_so(tmp_path: Path) -> None:
    with (
        Store.open(tmp_path, **STORE) as store,
        BrokerServer.start(store, [LOOPBACK], broker_name="a", cluster_name="c", flush_timeout_ms=20) as server,
        connected(server) as peer,
    ):
        peer.send(Frame(APPENDED, opaque=1), Frame(APPENDED, opaque=2))
        requests = [fetch_request(server), fetch_request(server)]
        never = store.log_end + 1
        server.answer(
            [
                (requests[0], Answer(0, ext_fields={"a": "b"}, body=b"b" * 5_000, after=never)),
                (requests[1], Answer(0, after=never, late_code=1, late_remark="FLUSH_DISK_TIMEOUT")),
            ]
        )
        first, second = peer.receive(2)
        assert (first.code, first.remark, first.ext_fields, bytes(first.body)) == (10, None, {"a": "b"}, b"")
        assert (second.code, second.remark) == (1, "FLUSH_DISK_TIMEOUT")
        with pytest.raises(ValueError, match="was answered before"):
            server.answer([(requests[0], Answer(0, after=never))])


def test_of_answers_that_do_not_fit_none_is_sent(tmp_path: Path) -> None:
    with started(tmp_path) as server, connected(server) as peer:
        peer.send(*(Frame(APPENDED, opaque=number, header_kind="binary") for number in (1, 2)))
        first, second = fetch_request(server), fetch_request(server)
        with pytest.raises(BadFrame):
            server.answer([(first, Answer(0)), (second, Answer(100_000, after=0))])
        server.answer([(first, Answer(0)), (second, Answer(0, after=0))])
        assert [answer.code for answer in peer.receive(2)] == [0, 0]


def test_a_server_that_closes_sends_what_waits_for_the_disk(tmp_path: Path) -> None:
    with started(tmp_path, flush_timeout_ms=50) as server, connected(server) as peer:
        peer.send(Frame(APPENDED, opaque=1))
        server.answer([(fetch_request(server), Answer(0, after=1 << 40))])
        server.close()
        (answer,) = peer.receive()
        assert answer.code == 10


def test_python_is_told_when_the_log_can_be_read_up_to_where_it_asked(tmp_path: Path) -> None:
    with (
        Store.open(tmp_path, **STORE) as store,
        BrokerServer.start(store, [LOOPBACK], broker_name="a", cluster_name="c") as server,
    ):
        for _ in range(2):
            end = store.append([Message("orders", b"by nobody's request")]).end_offset
            server.tell_when_visible(end)
            (event,) = server.next_batch(timeout_s=PATIENCE_S)
            assert isinstance(event, LogVisible)
            assert end <= event.end <= store.visible_end
            assert repr(event) == f"LogVisible(end={event.end})"
        server.tell_when_visible(store.log_end + 1)
        assert server.next_batch(timeout_s=0.02) == []
