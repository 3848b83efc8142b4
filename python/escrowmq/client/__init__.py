"""The client: producers and consumers, in threads; under asyncio the same names are in `escrowmq.client.aio`.

It speaks to our broker and to Apache RocketMQ's alike.
"""

from escrowmq.client.connection import Client
from escrowmq.client.consumer.allocation import AVG, AVG_BY_CIRCLE, CONSISTENT_HASH
from escrowmq.client.consumer.limits import FetchLimits
from escrowmq.client.consumer.options import PullOptions, PushOptions
from escrowmq.client.consumer.pull_consumer import PullConsumer
from escrowmq.client.consumer.push_consumer import PushConsumer
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.client.consumer.retry_rules import Consumed
from escrowmq.client.options import ClientOptions
from escrowmq.client.producer.options import ProducerOptions
from escrowmq.client.producer.producer import Producer
from escrowmq.client.producer.results import SendResult, SendStatus
from escrowmq.client.transactions.core import TransactionListener
from escrowmq.client.transactions.desk import TransactionDesk
from escrowmq.client.transactions.producer import TransactionProducer
from escrowmq.client.transactions.values import Decision, Ended, HalfMessage, Prepared, TransactionResult

__all__ = [
    "AVG",
    "AVG_BY_CIRCLE",
    "CONSISTENT_HASH",
    "Client",
    "ClientOptions",
    "Consumed",
    "Decision",
    "Ended",
    "FetchLimits",
    "HalfMessage",
    "Prepared",
    "Producer",
    "ProducerOptions",
    "PullConsumer",
    "PullOptions",
    "PushConsumer",
    "PushOptions",
    "ReceivedMessage",
    "SendResult",
    "SendStatus",
    "TransactionDesk",
    "TransactionListener",
    "TransactionProducer",
    "TransactionResult",
]
