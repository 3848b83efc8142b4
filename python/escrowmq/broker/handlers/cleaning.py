"""Requests of operators to clean up now what is cleaned up in time anyway."""

from escrowmq.broker.context import Context
from escrowmq.broker.ports import ClientRequest
from escrowmq.protocol.messages import Answer


def delete_expired_log(context: Context, _: ClientRequest) -> Answer:
    """DELETE_EXPIRED_COMMITLOG: log files that are too old go soon, whatever the hour."""
    context.store.expire_soon()
    return Answer()


def clean_expired_queues(context: Context, _: ClientRequest) -> Answer:
    """CLEAN_EXPIRED_CONSUMEQUEUE: files of queues go that hold nothing of the log any more."""
    context.store.expire_queues()
    return Answer()


def clean_unused_topics(context: Context, _: ClientRequest) -> Answer:
    """CLEAN_UNUSED_TOPIC: queues go whose topic was deleted, be it by a broker that left them behind."""
    stored = {queue.topic for queue in context.store.queues()}
    unused = [topic for topic in stored - context.topics.table.keys() if not context.topics.is_system(topic)]
    if unused:
        context.store.delete_topics(sorted(unused))
    return Answer()
