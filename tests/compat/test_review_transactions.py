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
