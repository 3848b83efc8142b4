"""Holds a message in escrow until your database decides.

Today this is the store: a commit log with consume queues and a key index in Apache RocketMQ's files, written in Rust.
`Store.open` is the place to begin. The broker, the name server and the client come on top of it.
"""

from escrowmq import errors
from escrowmq._core import (
    Answer,
    ConnectionClosed,
    ConnectionOpened,
    ExpiryReport,
    Frame,
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
    decode_frames,
    decode_records,
    encode_frames,
)

__all__ = [
    "Answer",
    "ConnectionClosed",
    "ConnectionOpened",
    "ExpiryReport",
    "Frame",
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
    "decode_frames",
    "decode_records",
    "encode_frames",
    "errors",
]
