"""The bodies of LOCK_BATCH_MQ and UNLOCK_BATCH_MQ: a client and the queues that it wants for itself, or no more."""

from collections.abc import Sequence

from msgspec import Struct, field

from escrowmq.model.message_queue import MessageQueue
from escrowmq.model.names import Name
from escrowmq.protocol import fastjson


class LockBatch(Struct, frozen=True):
    """Who wants which queues."""

    client_id: Name = field(name="clientId")
    group: Name = field(name="consumerGroup")
    queues: list[MessageQueue] = field(default_factory=list, name="mqSet")


def decode_lock_batch(body: bytes | memoryview) -> LockBatch:
    """Reads the body of either request.

    Raises:
        BadBody: It is none.
    """
    return fastjson.decode(body, LockBatch)


def encode_locked(queues: Sequence[MessageQueue]) -> bytes:
    """The answer to LOCK_BATCH_MQ: what the client has now."""
    return fastjson.encode_strict({"lockOKMQSet": queues})


class _Locked(Struct, frozen=True):
    queues: list[MessageQueue] = field(default_factory=list, name="lockOKMQSet")


def encode_lock_batch(wanted: LockBatch) -> bytes:
    """The body of either request."""
    return fastjson.encode_strict(wanted)


def decode_locked(body: bytes | memoryview) -> list[MessageQueue]:
    """Reads the answer to LOCK_BATCH_MQ.

    Raises:
        BadBody: It is none.
    """
    return fastjson.decode(body, _Locked).queues
