"""Requests of orderly consumers, each of which wants queues for itself."""

from escrowmq.broker.context import Context
from escrowmq.broker.ports import ClientRequest
from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol.bodies.lock_batch import decode_lock_batch, encode_locked
from escrowmq.protocol.messages import Answer


def lock(context: Context, request: ClientRequest) -> Answer:
    """LOCK_BATCH_MQ: leases queues of this broker to a client, or renews its leases."""
    wanted = decode_lock_batch(request.body)
    queues = [queue for queue in wanted.queues if _is_ours(context, queue)]
    locked = context.locks.lock(wanted.group, queues, wanted.client_id, now_ms=context.now_ms())
    return Answer(body=encode_locked(locked))


def unlock(context: Context, request: ClientRequest) -> Answer:
    """UNLOCK_BATCH_MQ: ends a client's leases."""
    unwanted = decode_lock_batch(request.body)
    context.locks.unlock(unwanted.group, unwanted.queues, unwanted.client_id)
    return Answer()


def _is_ours(context: Context, queue: MessageQueue) -> bool:
    topic = context.topics.find(queue.topic)
    queues = 0 if topic is None else max(topic.read_queues, topic.write_queues)
    return queue.broker_name == context.broker_name and 0 <= queue.queue_id < queues
