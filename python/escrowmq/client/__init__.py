"""The client: producers and consumers, in threads; under asyncio the same names are in `escrowmq.client.aio`.

It speaks to our broker and to Apache RocketMQ's alike.
"""

from escrowmq.client.connection import Client
from escrowmq.client.options import ClientOptions
from escrowmq.client.producer.options import ProducerOptions
from escrowmq.client.producer.producer import Producer
from escrowmq.client.producer.results import SendResult, SendStatus
from escrowmq.client.transactions.core import TransactionListener
from escrowmq.client.transactions.desk import TransactionDesk
from escrowmq.client.transactions.producer import TransactionProducer
from escrowmq.client.transactions.values import Decision, Ended, HalfMessage, Prepared, TransactionResult

__all__ = [
    "Client",
    "ClientOptions",
    "Decision",
    "Ended",
    "HalfMessage",
    "Prepared",
    "Producer",
    "ProducerOptions",
    "SendResult",
    "SendStatus",
    "TransactionDesk",
    "TransactionListener",
    "TransactionProducer",
    "TransactionResult",
]
