"""The client: producers and consumers, in threads; under asyncio the same names are in `escrowmq.client.aio`.

It speaks to our broker and to Apache RocketMQ's alike.
"""

from escrowmq.client.connection import Client
from escrowmq.client.options import ClientOptions

__all__ = ["Client", "ClientOptions"]
