"""Transactions with a listener, and as a block: what exists at the end, and what is said to whom."""

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest
from tests.unit.client.asking import producers, wait_until

from escrowmq import Message
from escrowmq.client import Decision, Ended, HalfMessage, SendStatus, TransactionProducer, aio
from escrowmq.errors import NoListener, PrepareFailed, SendFailed
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.testing import LocalBroker

GROUP = "billing"
ROUND_S = 37


class Listener:
    """Executes and checks as it is told."""

    def __init__(self) -> None:
        self.executes: Callable[[Message, object], Decision | None] = lambda *_: Decision.COMMIT
        self.says: Decision | None = Decision.COMMIT
        self.checked: list[HalfMessage] = []

    def execute(self, message: Message, argument: object) -> Decision | None:
        return self.executes(message, argument)

    def check(self, half: HalfMessage) -> Decision | None:
        self.checked.append(half)
        return self.says


class AsyncListener:
    """The same, awaited."""

    def __init__(self) -> None:
        self.says: Decision | None = Decision.UNKNOWN

    async def execute(self, message: Message, argument: object) -> Decision | None:
        await asyncio.sleep(0)
        assert message.topic == "orders"
        assert argument is not self
        return self.says

    async def check(self, half: HalfMessage) -> Decision | None:
        await asyncio.sleep(0)
        return Decision.COMMIT if half.topic == "orders" else None


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def producer(escrowmq_broker: LocalBroker, listener: Listener) -> Iterator[TransactionProducer]:
    escrowmq_broker.create_topic("orders")
    name_server = escrowmq_broker.name_server
    with TransactionProducer(name_server, group=GROUP, topics=["orders"], listener=listener) as opened:
        wait_until(lambda: producers(escrowmq_broker, GROUP) != b"")
        yield opened


def bodies(broker: LocalBroker, *, count: int = 0) -> list[bytes]:
    return sorted(message.body for message in broker.messages("orders", count=count))


def failing(_: Message, __: object) -> Decision:
    raise ValueError("no database")


def test_the_message_is_there_where_the_local_transaction_committed(
    producer: TransactionProducer, listener: Listener, escrowmq_broker: LocalBroker
) -> None:
    seen: list[tuple[Message, object, list[bytes]]] = []

    def execute(message: Message, argument: object) -> Decision:
        seen.append((message, argument, bodies(escrowmq_broker)))
        return Decision.COMMIT

    listener.executes = execute
    message = Message("orders", b"paid")
    result = producer.send_in_transaction(message, "argument")
    assert seen == [(message, "argument", [])]
    assert (result.local_state, result.ended, result.sent.status) == (
        Decision.COMMIT,
        Ended.SETTLED,
        SendStatus.SEND_OK,
    )
    assert bodies(escrowmq_broker) == [b"paid"]


def test_there_is_none_where_it_was_rolled_back(
    producer: TransactionProducer, listener: Listener, escrowmq_broker: LocalBroker
) -> None:
    listener.executes = lambda *_: Decision.ROLLBACK
    assert producer.send_in_transaction(Message("orders", b"paid")).ended is Ended.SETTLED
    escrowmq_broker.clock.advance(seconds=ROUND_S)
    assert bodies(escrowmq_broker) == []
    assert listener.checked == []


@pytest.mark.parametrize("executes", [failing, lambda *_: None, lambda *_: Decision.UNKNOWN])
def test_what_nobody_knows_is_asked_about(
    producer: TransactionProducer,
    listener: Listener,
    escrowmq_broker: LocalBroker,
    executes: Callable[[Message, object], Decision | None],
) -> None:
    listener.executes = executes
    result = producer.send_in_transaction(Message("orders", b"paid"))
    assert (result.local_state, result.ended) == (Decision.UNKNOWN, Ended.TOLD)
    assert isinstance(result.error, ValueError) == (executes is failing)
    escrowmq_broker.clock.advance(seconds=ROUND_S)
    assert bodies(escrowmq_broker, count=1) == [b"paid"]
    assert [half.transaction_id for half in listener.checked] == [result.sent.message_id]


def test_without_a_listener_nothing_is_sent(escrowmq_broker: LocalBroker) -> None:
    with TransactionProducer(escrowmq_broker.name_server, group=GROUP, topics=["orders"]) as producer:
        with pytest.raises(NoListener):
            producer.send_in_transaction(Message("orders", b"paid"))
        with pytest.raises(NoListener), producer.transaction(Message("orders", b"paid")):
            pytest.fail("the block ran")
    assert escrowmq_broker.messages("RMQ_SYS_TRANS_HALF_TOPIC") == []


def test_the_local_transaction_does_not_run_without_a_half_message(
    producer: TransactionProducer, listener: Listener, escrowmq_broker: LocalBroker
) -> None:
    listener.executes = failing
    escrowmq_broker.drop_next_answer(RequestCode.SEND_MESSAGE_V2)
    with pytest.raises(SendFailed):
        producer.send_in_transaction(Message("orders", b"paid"), timeout_s=0.05)


def test_a_half_message_is_never_for_later(producer: TransactionProducer, escrowmq_broker: LocalBroker) -> None:
    properties = {"DELAY": "18", "TIMER_DELAY_SEC": "100", "own": "kept"}
    producer.send_in_transaction(Message("orders", b"paid", properties=properties))
    (message,) = escrowmq_broker.messages("orders")
    assert message.properties["own"] == "kept"
    assert not {"DELAY", "TIMER_DELAY_SEC"} & set(message.properties)


def test_a_block_commits_its_messages(producer: TransactionProducer, escrowmq_broker: LocalBroker) -> None:
    with producer.transaction(Message("orders", b"first"), Message("orders", b"second")) as scope:
        assert bodies(escrowmq_broker) == []
        assert len(scope.prepared) == 2
        was_settled = scope.is_settled
    assert (was_settled, scope.is_settled, scope.decision) == (False, True, Decision.COMMIT)
    assert bodies(escrowmq_broker) == [b"first", b"second"]


def test_a_block_that_raises_has_no_messages(producer: TransactionProducer, escrowmq_broker: LocalBroker) -> None:
    with pytest.raises(ZeroDivisionError), producer.transaction(Message("orders", b"paid")) as scope:
        _ = 1 // 0
    assert (scope.decision, scope.is_settled) == (Decision.ROLLBACK, True)
    with producer.transaction(Message("orders", b"paid")) as scope:
        scope.rollback()
    assert (scope.decision, scope.is_settled) == (Decision.ROLLBACK, True)
    assert bodies(escrowmq_broker) == []


def test_a_block_that_is_open_is_not_decided_by_a_question(
    producer: TransactionProducer, listener: Listener, escrowmq_broker: LocalBroker
) -> None:
    with producer.transaction(Message("orders", b"paid")):
        escrowmq_broker.clock.advance(seconds=ROUND_S)
        assert bodies(escrowmq_broker) == []
    assert bodies(escrowmq_broker, count=1) == [b"paid"]
    assert listener.checked == []


def test_a_block_does_not_run_where_not_all_messages_got_through(
    producer: TransactionProducer, escrowmq_broker: LocalBroker
) -> None:
    escrowmq_broker.drop_next_answer(RequestCode.SEND_MESSAGE_V2)
    messages = [Message("orders", b"first"), Message("orders", b"second")]
    has_run = []
    with pytest.raises(PrepareFailed), producer.transaction(*messages, timeout_s=0.2):
        has_run.append(True)
    assert has_run == []
    assert bodies(escrowmq_broker) == []


def test_after_a_block_nothing_raises(producer: TransactionProducer, escrowmq_broker: LocalBroker) -> None:
    with producer.transaction(Message("orders", b"paid")) as scope:
        escrowmq_broker.kill()
    assert (scope.decision, list(scope.ended), scope.is_settled) == (Decision.COMMIT, [Ended.UNREACHABLE], False)
    escrowmq_broker.reopen()
    wait_until(lambda: producers(escrowmq_broker, GROUP) != b"")
    escrowmq_broker.clock.advance(seconds=ROUND_S)
    assert bodies(escrowmq_broker, count=1) == [b"paid"]


def test_under_asyncio_it_is_the_same(escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.create_topic("orders")

    async def work() -> None:
        listener = AsyncListener()
        name_server = escrowmq_broker.name_server
        async with aio.TransactionProducer(name_server, group=GROUP, topics=["orders"], listener=listener) as producer:
            await asyncio.to_thread(wait_until, lambda: producers(escrowmq_broker, GROUP) != b"")
            result = await producer.send_in_transaction(Message("orders", b"asked"))
            assert (result.local_state, result.ended) == (Decision.UNKNOWN, Ended.TOLD)
            async with producer.transaction(Message("orders", b"block")) as scope:
                assert len(scope.prepared) == 1
            assert scope.is_settled
            with pytest.raises(ZeroDivisionError):
                async with producer.transaction(Message("orders", b"dropped")):
                    _ = 1 // 0
            await asyncio.to_thread(escrowmq_broker.clock.advance, seconds=ROUND_S)
            await asyncio.to_thread(escrowmq_broker.messages, "orders", count=2)

    asyncio.run(work())
    assert bodies(escrowmq_broker) == [b"asked", b"block"]


def test_a_listener_that_never_returns_leaves_the_producer_able_to_close(escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.create_topic("orders")
    returns, begun = threading.Event(), threading.Event()
    listener = Listener()

    def execute(_: Message, __: object) -> Decision:
        begun.set()
        returns.wait()
        return Decision.COMMIT

    listener.executes = execute
    producer = TransactionProducer(escrowmq_broker.name_server, group=GROUP, topics=["orders"], listener=listener)
    results: list[object] = []

    def send() -> None:
        try:
            results.append(producer.send_in_transaction(Message("orders", b"paid")))
        except Exception as error:  # noqa: BLE001 - the test looks at it
            results.append(error)

    thread = threading.Thread(target=send)
    thread.start()
    assert begun.wait(10)
    producer.close()
    returns.set()
    thread.join(10)
    assert len(results) == 1
    assert bodies(escrowmq_broker) == []
