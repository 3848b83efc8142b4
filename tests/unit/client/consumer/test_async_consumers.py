"""Consumers under asyncio, against a broker in this process."""

import asyncio

from tests.unit.client.consumer.waiting import wait_until_async

from escrowmq.client.consumer.async_pull_consumer import PullConsumer
from escrowmq.client.consumer.async_push_consumer import PushConsumer
from escrowmq.client.consumer.options import PullOptions, PushOptions
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.testing import LocalBroker

GROUP = "billing"


def test_handlers_are_awaited_side_by_side_and_what_fails_comes_again(escrowmq_broker: LocalBroker) -> None:
    _send(escrowmq_broker, 8)
    seen: list[tuple[bytes, int]] = []
    most = running = 0

    async def handle(message: ReceivedMessage) -> None:
        nonlocal most, running
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        seen.append((message.body, message.reconsume_times))
        if message.body == b"3" and message.reconsume_times == 0:
            raise ValueError("the handler's own")

    async def main() -> None:
        consumer = PushConsumer(
            escrowmq_broker.name_server,
            GROUP,
            on_message=handle,
            options=PushOptions(start="earliest", handlers_max=4),
        )
        consumer.subscribe("orders")
        async with consumer:
            await wait_until_async(lambda: len(seen) == 8 and bool(escrowmq_broker.messages("SCHEDULE_TOPIC_XXXX")))
            escrowmq_broker.clock.advance(seconds=11)
            await wait_until_async(lambda: (b"3", 1) in seen)

    asyncio.run(main())
    assert most == 4
    assert len(seen) == 9


def test_close_cancels_a_handler_that_does_not_return_and_its_message_comes_again(escrowmq_broker: LocalBroker) -> None:
    _send(escrowmq_broker, 1)
    was_cancelled = False

    async def hang(_: ReceivedMessage) -> None:
        nonlocal was_cancelled
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            was_cancelled = True
            raise

    async def main() -> list[bytes]:
        options = PushOptions(start="earliest")
        consumer = PushConsumer(escrowmq_broker.name_server, GROUP, on_message=hang, options=options)
        consumer.subscribe("orders")
        await consumer.start()
        await wait_until_async(lambda: consumer.fetched_count == 1)
        await asyncio.sleep(0.01)
        assert not await consumer.close(timeout_s=0.05)
        reader = PullConsumer(escrowmq_broker.name_server, GROUP, options=PullOptions(start="earliest"))
        reader.subscribe("orders")
        async with reader:
            return [message.body for message in await reader.poll(timeout_s=10)]

    assert asyncio.run(main()) == [b"0"]
    assert was_cancelled


def test_messages_can_be_iterated_over(escrowmq_broker: LocalBroker) -> None:
    _send(escrowmq_broker, 5)

    async def main() -> set[bytes]:
        bodies = set()
        consumer = PullConsumer(escrowmq_broker.name_server, GROUP, options=PullOptions(start="earliest"))
        consumer.subscribe("orders")
        async with consumer:
            async for message in consumer:
                bodies.add(message.body)
                if len(bodies) == 5:
                    break
        return bodies

    assert asyncio.run(main()) == {b"%d" % number for number in range(5)}


def _send(broker: LocalBroker, count: int) -> None:
    broker.create_topic("orders")
    for number in range(count):
        broker.send("orders", b"%d" % number)
