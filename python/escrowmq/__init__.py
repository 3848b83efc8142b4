"""Holds a message in escrow until your database decides.

Today there are the store (a commit log with consume queues and a key index in Apache RocketMQ's files, written in
Rust), a name server and a broker. `Store.open` is the place to begin in Python, `escrowmq up` on the command line.
Transactions, the client and the Spark source come next.
"""

from escrowmq import errors
from escrowmq._core import (
    Answer,
    BrokerServer,
    ConfigFile,
    ConnectionClosed,
    ConnectionOpened,
    ExpiryReport,
    FastLaneStatistics,
    Frame,
    GroupEntry,
    Message,
    QueueIterator,
    QueueStatus,
    Receipt,
    Receipts,
    Record,
    RecoveryReport,
    Request,
    Response,
    Server,
    ServerStatistics,
    Statistics,
    Store,
    SubscriptionEntry,
    TopicEntry,
    decode_frames,
    decode_records,
    encode_frames,
)

__all__ = [
    "Answer",
    "BrokerServer",
    "ConfigFile",
    "ConnectionClosed",
    "ConnectionOpened",
    "ExpiryReport",
    "FastLaneStatistics",
    "Frame",
    "GroupEntry",
    "Message",
    "QueueIterator",
    "QueueStatus",
    "Receipt",
    "Receipts",
    "Record",
    "RecoveryReport",
    "Request",
    "Response",
    "Server",
    "ServerStatistics",
    "Statistics",
    "Store",
    "SubscriptionEntry",
    "TopicEntry",
    "decode_frames",
    "decode_records",
    "encode_frames",
    "errors",
]
