"""What becomes of a message that a handler did not get done. Pure.

Out of order, the broker is given it back, and delivers it again later to any member of the group. In order, nothing of
its queue may go before it: it is tried again here until it has had all its tries, and only then leaves the queue.
"""

from enum import Enum
from typing import Final

from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.model import names
from escrowmq.protocol import properties

LEVEL_BY_RETRIES: Final = 0
"""The delay level for which the broker counts: the first retry after ten seconds, the next later and later."""

RETRIES_MAX: Final = 16
"""How often the group tries in all, unless it says something else."""

_FIRST_LEVEL: Final = 3
_ORIGIN_RETRIES: Final = "RECONSUME_TIME"
_ORIGIN_RETRIES_MAX: Final = "MAX_RECONSUME_TIMES"


class Consumed(Enum):
    """What a handler says of what it got."""

    SUCCESS = "success"
    RECONSUME_LATER = "reconsume_later"


def is_given_up_in_order(message: ReceivedMessage, retries_max: int | None) -> bool:
    """Whether a message that failed in order has had all its tries; without a limit it never has."""
    return retries_max is not None and message.reconsume_times >= retries_max


def retry_properties(message: ReceivedMessage, *, retries_max: int) -> dict[str, str]:
    """The properties of a message that goes to its group's retry topic as a new one, as RocketMQ's client sends it."""
    return {
        **message.properties,
        properties.RETRY_TOPIC: message.topic,
        properties.ORIGIN_MESSAGE_ID: message.find_property(properties.ORIGIN_MESSAGE_ID) or message.offset_message_id,
        _ORIGIN_RETRIES: str(message.reconsume_times),
        _ORIGIN_RETRIES_MAX: str(retries_max),
        properties.DELAY: str(_FIRST_LEVEL + message.reconsume_times),
    }


def is_retry_topic(topic: str) -> bool:
    """Whether it holds what a group failed to consume."""
    return topic.startswith(names.RETRY_PREFIX)
