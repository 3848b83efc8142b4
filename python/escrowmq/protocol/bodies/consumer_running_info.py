"""The body that a consumer answers GET_CONSUMER_RUNNING_INFO with: what it is, and how far it is in its queues.

Field names are Java's.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from escrowmq.model.message_queue import MessageQueue
from escrowmq.model.subscription import Subscription
from escrowmq.protocol import fastjson, object_keys


class QueueInfo(Struct, frozen=True):
    """A queue of the consumer."""

    commit_offset: int = field(name="commitOffset")
    cached_min_offset: int = field(name="cachedMsgMinOffset")
    cached_max_offset: int = field(name="cachedMsgMaxOffset")
    cached_count: int = field(name="cachedMsgCount")
    cached_size_mib: int = field(name="cachedMsgSizeInMiB")
    is_locked: bool = field(name="locked")
    # Compat: it is Java's own spelling.
    is_dropped: bool = field(default=False, name="droped")
    last_pull_ms: int = field(default=0, name="lastPullTimestamp")
    last_consume_ms: int = field(default=0, name="lastConsumeTimestamp")
    last_lock_ms: int = field(default=0, name="lastLockTimestamp")


def encode_running_info(
    *,
    properties: Mapping[str, str],
    subscriptions: Sequence[Subscription],
    queues: Mapping[MessageQueue, QueueInfo],
    stack: str | None,
) -> bytes:
    """What a consumer says of itself; with the stacks of its threads if it was asked for them."""
    jstack = b'"jstack":%s,' % fastjson.encode_strict(stack) if stack is not None else b""
    return b'{%s"mqPopTable":{},"mqTable":%s,"properties":%s,"statusTable":{},"subscriptionSet":%s}' % (
        jstack,
        object_keys.encode_map(queues.items()),
        fastjson.encode_strict(dict(properties)),
        fastjson.encode_strict(list(subscriptions)),
    )
