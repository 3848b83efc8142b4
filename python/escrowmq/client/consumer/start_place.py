"""Where a group begins to read a queue. Pure."""

from enum import Enum

from escrowmq.client.consumer.retry_rules import is_retry_topic
from escrowmq.model.place import Place


class Search(Enum):
    """What the broker is to be asked for."""

    LAST = "last"
    BY_TIME = "by_time"


def place_to_begin(topic: str, committed: int | None, start: Place) -> int | Search:
    """The offset, or how to find it. What the group has committed counts before all else."""
    if committed is not None:
        return committed
    if start == "earliest":
        # A broker whose queue begins later says so when it is asked for this.
        return 0
    if start == "latest":
        # Compat: what waits in the retry topic is old, and the group has asked for it.
        return 0 if is_retry_topic(topic) else Search.LAST
    return Search.LAST if is_retry_topic(topic) else Search.BY_TIME


def rocketmq_name(start: Place) -> str:
    """What a heartbeat says about it."""
    if isinstance(start, int):
        return "CONSUME_FROM_TIMESTAMP"
    return "CONSUME_FROM_FIRST_OFFSET" if start == "earliest" else "CONSUME_FROM_LAST_OFFSET"
