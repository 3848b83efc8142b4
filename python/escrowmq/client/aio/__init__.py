"""The client under asyncio: the names of `escrowmq.client`, with coroutines where those wait."""

from escrowmq.client.consumer.async_pull_consumer import PullConsumer
from escrowmq.client.consumer.async_push_consumer import PushConsumer

__all__ = ["PullConsumer", "PushConsumer"]
