"""The client under asyncio: the names of `escrowmq.client`, with `await` where those block."""

from escrowmq.client.aio.producers import Producer, TransactionDesk, TransactionListener, TransactionProducer
from escrowmq.client.consumer.async_pull_consumer import PullConsumer
from escrowmq.client.consumer.async_push_consumer import PushConsumer

__all__ = [
    "Producer",
    "PullConsumer",
    "PushConsumer",
    "TransactionDesk",
    "TransactionListener",
    "TransactionProducer",
]
