"""The producer: what is sent where, what is tried again, and what is refused before."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from escrowmq import Message
from escrowmq.client import ClientOptions, Producer, ProducerOptions, SendStatus, aio
from escrowmq.errors import NoAnswer, NotReachable, NotThere, Refused, SendFailed, ServerClosed, Unsendable
from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.testing import LocalBroker


@pytest.fixture
def producer(escrowmq_broker: LocalBroker) -> Iterator[Producer]:
    escrowmq_broker.create_topic("orders")
    with Producer(escrowmq_broker.name_server, group="billing") as opened:
        yield opened


def test_a_result_says_where_the_message_is(producer: Producer, escrowmq_broker: LocalBroker) -> None:
    result = producer.send(Message("orders", b"paid", tags="t", keys="k", properties={"order": "7"}))
    (stored,) = escrowmq_broker.messages("orders")
    assert result.status is SendStatus.SEND_OK
    assert (result.queue.queue_id, result.queue_offset) == (stored.queue_id, stored.queue_offset)
    assert stored.properties["UNIQ_KEY"] == result.message_id
    assert len(result.message_id) == 32
    assert (stored.body, stored.tags, stored.keys, stored.properties["order"]) == (b"paid", "t", ["k"], "7")


def test_queues_take_turns(producer: Producer) -> None:
    assert {producer.send(Message("orders", b"x")).queue.queue_id for _ in range(4)} == {0, 1, 2, 3}


def test_a_queue_may_be_chosen_by_itself_by_a_function_or_by_a_key(producer: Producer) -> None:
    chosen = producer.queues("orders")[2]
    assert producer.send(Message("orders", b"x"), queue=chosen).queue == chosen
    assert producer.send(Message("orders", b"x"), selector=lambda queues, _: queues[1]).queue.queue_id == 1
    assert len({producer.send(Message("orders", b"x"), sharding_key="customer 7").queue for _ in range(5)}) == 1
    with pytest.raises(Unsendable):
        producer.send(Message("orders", b"x"), queue=chosen, sharding_key="customer 7")


def test_a_large_body_travels_compressed(producer: Producer, escrowmq_broker: LocalBroker) -> None:
    body = b"paid" * 2_000
    producer.send(Message("orders", body))
    assert escrowmq_broker.messages("orders")[0].body == body


def test_many_messages_go_in_one_request(producer: Producer, escrowmq_broker: LocalBroker) -> None:
    messages = [Message("orders", b"%d" % number, keys=f"k{number}") for number in range(10)]
    result = producer.send_many(messages)
    stored = escrowmq_broker.messages("orders")
    assert [message.body for message in stored] == [b"%d" % number for number in range(10)]
    assert [message.properties["UNIQ_KEY"] for message in stored] == result.message_ids
    assert len({message.queue_id for message in stored}) == 1


def test_a_message_without_an_answer_arrives(producer: Producer, escrowmq_broker: LocalBroker) -> None:
    producer.send_one_way(Message("orders", b"paid"))
    assert [message.body for message in escrowmq_broker.messages("orders", count=1)] == [b"paid"]


def test_a_message_for_later_waits(producer: Producer, escrowmq_broker: LocalBroker) -> None:
    producer.send(Message("orders", b"level"), delay_level=3)
    producer.send(Message("orders", b"seconds"), delay_s=20)
    at = datetime.fromtimestamp(escrowmq_broker.clock.wall_ms / 1_000 + 30, UTC)
    producer.send(Message("orders", b"time"), deliver_at=at)
    assert escrowmq_broker.messages("orders") == []
    for seconds, count in ((11, 1), (10, 2), (15, 3)):
        escrowmq_broker.clock.advance(seconds=seconds)
        escrowmq_broker.messages("orders", count=count)
    with pytest.raises(Unsendable, match="contradict"):
        producer.send(Message("orders", b"x"), delay_level=3, delay_s=1)


def test_a_topic_is_made_for_its_first_message(producer: Producer, escrowmq_broker: LocalBroker) -> None:
    producer.send(Message("invoices", b"first"))
    assert [message.body for message in escrowmq_broker.messages("invoices")] == [b"first"]


@pytest.mark.escrowmq(settings={"broker.creates_topics": "false"})
def test_a_topic_that_nobody_makes_is_not_there(producer: Producer) -> None:
    with pytest.raises(NotThere, match="no broker makes new ones"):
        producer.send(Message("invoices", b"first"))


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (Message("orders?", b"x"), "topic"),
        (Message("o" * 128, b"x"), "topic"),
        (Message("SCHEDULE_TOPIC_XXXX", b"x"), "topic"),
        (Message("orders", b"x" * (4 * 1024 * 1024 + 1)), "body"),
        (Message("orders", b"x", properties={"p": "v" * 40_000}), "properties"),
    ],
)
def test_what_no_broker_takes_is_refused_before(producer: Producer, message: Message, field: str) -> None:
    with pytest.raises(Unsendable) as failure:
        producer.send(message)
    assert failure.value.field == field
    assert not failure.value.retriable


def test_a_batch_that_no_broker_takes_is_refused_before(producer: Producer) -> None:
    for messages in (
        [],
        [Message("orders", b"x"), Message("invoices", b"x")],
        [Message("orders", b"x", properties={"DELAY": "3"})],
        [Message("%RETRY%orders", b"x")],
    ):
        with pytest.raises(Unsendable):
            producer.send_many(messages)


def test_a_group_without_a_name_is_refused(escrowmq_broker: LocalBroker) -> None:
    with pytest.raises(Unsendable):
        Producer(escrowmq_broker.name_server, group="a group")


def test_a_broker_that_vanishes_is_tried_again(producer: Producer, escrowmq_broker: LocalBroker) -> None:
    producer.send(Message("orders", b"first"))
    escrowmq_broker.kill()
    with pytest.raises(SendFailed) as failure:
        producer.send(Message("orders", b"second"), timeout_s=1)
    assert failure.value.retriable
    assert failure.value.tries == 3
    assert isinstance(failure.value.__cause__, NotReachable)
    escrowmq_broker.reopen()
    assert producer.send(Message("orders", b"third")).status is SendStatus.SEND_OK


def test_another_try_has_the_same_id(escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.create_topic("orders")
    escrowmq_broker.drop_next_answer(RequestCode.SEND_MESSAGE_V2)
    options = ProducerOptions(try_timeout_s=0.1)
    with Producer(escrowmq_broker.name_server, group="billing", options=options) as producer:
        result = producer.send(Message("orders", b"paid"))
    ids = [message.properties["UNIQ_KEY"] for message in escrowmq_broker.messages("orders")]
    assert ids == [result.message_id, result.message_id]


def test_a_send_takes_no_longer_than_it_may(producer: Producer, escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.drop_next_answer(RequestCode.SEND_MESSAGE_V2)
    with pytest.raises(SendFailed) as failure:
        producer.send(Message("orders", b"paid"), timeout_s=0.05)
    assert isinstance(failure.value.__cause__, NoAnswer)


def test_without_a_name_server_nothing_is_sent() -> None:
    options = ClientOptions(ask_timeout_s=0.5)
    with (
        Producer("127.0.0.1:1", group="billing", client_options=options) as producer,
        pytest.raises(NotReachable, match=r"127.0.0.1:1 can't be reached"),
    ):
        producer.send(Message("orders", b"paid"))


def test_another_name_server_is_asked_where_one_is_gone(escrowmq_broker: LocalBroker) -> None:
    with Producer(f"127.0.0.1:1;{escrowmq_broker.name_server}", group="billing") as producer:
        assert producer.send(Message("orders", b"paid")).status is SendStatus.SEND_OK


def test_a_topic_that_may_not_be_written_to_is_refused(producer: Producer, escrowmq_broker: LocalBroker) -> None:
    queue = MessageQueue(producer.queues("orders")[0].broker_name, 99, "orders")
    with pytest.raises((Refused, SendFailed)):
        producer.send(Message("orders", b"paid"), queue=queue)
    assert escrowmq_broker.messages("orders") == []


def test_a_closed_producer_sends_nothing_and_leaves_no_thread(escrowmq_broker: LocalBroker) -> None:
    before = set(threading.enumerate())
    first, second = (Producer(escrowmq_broker.name_server, group="billing") for _ in range(2))
    first.send(Message("orders", b"first"))
    first.close()
    second.send(Message("orders", b"second"))
    second.close()
    second.close()
    assert set(threading.enumerate()) == before
    with pytest.raises(ServerClosed):
        second.send(Message("orders", b"third"))


def test_under_asyncio_it_is_the_same(escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.create_topic("orders")

    async def work() -> set[str]:
        async with aio.Producer(escrowmq_broker.name_server, group="billing") as producer:
            results = await asyncio.gather(*(producer.send(Message("orders", b"x")) for _ in range(50)))
            batch = await producer.send_many([Message("orders", b"y")] * 2)
            await producer.send_one_way(Message("orders", b"z"))
            assert len(await producer.queues("orders")) == 4
            return {result.message_id for result in results} | set(batch.message_ids)

    assert len(asyncio.run(work())) == 52
    assert len(escrowmq_broker.messages("orders", count=53)) == 53


def test_a_send_that_is_cancelled_leaves_nothing_behind(escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.create_topic("orders")

    async def work() -> None:
        async with aio.Producer(escrowmq_broker.name_server, group="billing") as producer:
            await producer.send(Message("orders", b"first"))
            escrowmq_broker.drop_next_answer(RequestCode.SEND_MESSAGE_V2)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await producer.send(Message("orders", b"second"))
            await producer.send(Message("orders", b"third"))

    asyncio.run(work())


@pytest.mark.escrowmq(
    settings={"store.disk_clean_ratio": 0.0001, "store.disk_force_ratio": 0.0001, "store.disk_refuse_ratio": 0.0001}
)
def test_a_broker_whose_disk_is_full_says_so(escrowmq_broker: LocalBroker) -> None:
    with (
        Producer(escrowmq_broker.name_server, group="billing") as producer,
        pytest.raises(SendFailed, match="writes are refused") as failure,
    ):
        producer.send(Message("orders", b"paid"))
    assert failure.value.retriable
    assert failure.value.tries == 3


def test_ctrl_c_ends_a_send_that_waits(producer: Producer, escrowmq_broker: LocalBroker) -> None:
    escrowmq_broker.drop_next_answer(RequestCode.SEND_MESSAGE_V2)
    interrupt = threading.Timer(0.05, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        producer.send(Message("orders", b"paid"), timeout_s=30)
    interrupt.join()
    assert producer.send(Message("orders", b"paid")).status is SendStatus.SEND_OK
