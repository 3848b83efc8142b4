"""Requests of orderly consumers, each of which wants queues for itself."""

from escrowmq.broker.context import Context
from escrowmq.broker.ports import ClientRequest
from escrowmq.protocol.bodies.lock_batch import decode_lock_batch, encode_locked
from escrowmq.protocol.messages import Answer


def lock(context: Context, request: ClientRequest) -> Answer:
    """LOCK_BATCH_MQ: leases queues to a client, or renews its leases."""
    wanted = decode_lock_batch(request.body)
    locked = context.locks.lock(wanted.group, wanted.queues, wanted.client_id, now_ms=context.now_ms())
    return Answer(body=encode_locked(locked))


def unlock(context: Context, request: ClientRequest) -> Answer:
    """UNLOCK_BATCH_MQ: ends a client's leases."""
    unwanted = decode_lock_batch(request.body)
    context.locks.unlock(unwanted.group, unwanted.queues, unwanted.client_id)
    return Answer()
