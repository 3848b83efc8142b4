"""What a review found by the wire: a peer that knows no more than names ends the transactions of others."""

from tests.compat.transacting import COMMIT, TransactionPeer

from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.testing import LocalBroker

HALF_TOPIC, OP_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"
GROUP = "CID_RMQ_SYS_TRANS"


def test_no_peer_closes_transactions_by_an_offset_that_it_commits() -> None:
    with LocalBroker() as broker:
        broker.create_topic("orders", queues=1)
        with TransactionPeer(broker.address) as producer, TransactionPeer(broker.address) as hostile:
            prepared = producer.prepare("A")
            for _ in range(80):
                hostile.ask(
                    RequestCode.UPDATE_CONSUMER_OFFSET,
                    {"consumerGroup": GROUP, "topic": HALF_TOPIC, "queueId": "0", "commitOffset": "1000000"},
                )
                broker.clock.advance(seconds=0.1)
        broker.kill()
        broker.reopen()
        with TransactionPeer(broker.address) as producer:
            assert producer.end(prepared, COMMIT).code == ResponseCode.SUCCESS
        assert [message.body for message in broker.messages("orders")] == [b"body"]


def test_a_half_message_stays_in_the_log_from_the_moment_of_its_append() -> None:
    """A disk that is too full has old segments go at any time, also between two looks at what is pending."""
    settings = {"store.disk_force_ratio": 0.0001, "store.segment_size_bytes": 2 << 20}
    with LocalBroker(settings=settings, flush="async") as broker:
        broker.create_topic("orders", queues=1)
        with TransactionPeer(broker.address) as producer:
            broker.clock.advance(seconds=1)
            prepared = producer.prepare("A")
            for _ in range(4):
                broker.send("orders", b"x" * 1_000_000)
            store = broker._servers.broker.store  # noqa: SLF001 - what the housekeeper does in its own time
            store.flush()
            store.expire()
            assert producer.end(prepared, COMMIT).code == ResponseCode.SUCCESS


def test_a_long_id_keeps_nobody_from_being_asked() -> None:
    with LocalBroker() as broker:
        broker.create_topic("orders", queues=1)
        with TransactionPeer(broker.address) as producer:
            producer.heartbeat()
            assert producer.prepare("\x1f" * 14_000).code == ResponseCode.SUCCESS
            assert producer.prepare("B").code == ResponseCode.SUCCESS
            broker.clock.advance(seconds=31)
            asked = {producer.question().ext_fields["transactionId"] for _ in range(2)}
            assert "B" in asked
