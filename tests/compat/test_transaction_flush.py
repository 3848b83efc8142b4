"""`transaction_flush = "sync"` in a store that flushes in its own time: what is answered of transactions is on disk."""

from tests.compat.transacting import COMMIT, ROLLBACK, TransactionPeer

from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.testing import LocalBroker

# A checkpoint would flush too.
UNDISTURBED = {"store.checkpoint_interval_ms": 3_600_000}
SYNC = {"broker.transaction_flush": "sync", **UNDISTURBED}


def is_all_on_disk(broker: LocalBroker) -> bool:
    """No client can know."""
    store = broker._servers.broker.store
    return store.durable_end == store.log_end


def test_prepares_and_decisions_are_on_disk_when_they_are_answered() -> None:
    with LocalBroker(flush="async", settings=SYNC) as broker, TransactionPeer(broker.address) as producer:
        broker.create_topic("orders", queues=1)
        first, second = producer.prepare("A"), producer.prepare("B")
        assert is_all_on_disk(broker)
        for prepared, decision in ((first, COMMIT), (second, ROLLBACK)):
            assert producer.end(prepared, decision).code == ResponseCode.SUCCESS
            assert is_all_on_disk(broker)
        assert [message.body for message in broker.messages("orders", count=1)] == [b"body"]


def test_what_a_flush_that_fails_was_for_is_not_acknowledged_and_other_sends_do_not_wait_for_it() -> None:
    with LocalBroker(flush="async", settings=SYNC) as broker, TransactionPeer(broker.address) as producer:
        broker.create_topic("orders", queues=1)
        prepared = producer.prepare("A")
        broker.fail_next_flush()
        # Refused, it would raise.
        broker.send("orders", b"a plain one")
        assert producer.end(prepared, COMMIT).code == ResponseCode.FLUSH_DISK_TIMEOUT


def test_a_prepare_whose_flush_fails_is_not_acknowledged() -> None:
    """Java's client rolls back then."""
    with LocalBroker(flush="async", settings=SYNC) as broker, TransactionPeer(broker.address) as producer:
        broker.create_topic("orders", queues=1)
        broker.fail_next_flush()
        assert producer.prepare("A").code == ResponseCode.FLUSH_DISK_TIMEOUT


def test_without_the_setting_they_are_as_durable_as_everything_else() -> None:
    with LocalBroker(flush="async", settings=UNDISTURBED) as broker, TransactionPeer(broker.address) as producer:
        broker.create_topic("orders", queues=1)
        broker.fail_next_flush()
        assert producer.end(producer.prepare("A"), COMMIT).code == ResponseCode.SUCCESS


def test_a_one_way_decision_is_flushed_as_well() -> None:
    with LocalBroker(flush="async", settings=SYNC) as broker, TransactionPeer(broker.address) as producer:
        broker.create_topic("orders", queues=1)
        producer.heartbeat()
        producer.prepare("A")
        broker.clock.advance(seconds=31)
        producer.reply(producer.question(), COMMIT)
        broker.messages("orders", count=1)
        # What comes behind it on its connection is flushed no earlier.
        producer.prepare("B")
        assert is_all_on_disk(broker)
