"""Which names topics and groups may have, and which topics are the broker's own."""

import re
from typing import Annotated, Final, TypeAlias

from msgspec import Meta

TOPIC_LENGTH_MAX: Final = 127
DERIVED_TOPIC_LENGTH_MAX: Final = 255
# A group's name becomes part of the names of its retry and dead-letter topics.
GROUP_LENGTH_MAX: Final = 120

Name: TypeAlias = Annotated[str, Meta(max_length=255)]
"""A name that a client gives to itself or to what it wants; RocketMQ's clients allow no longer ones."""

RETRY_PREFIX: Final = "%RETRY%"
DEAD_LETTER_PREFIX: Final = "%DLQ%"
SYSTEM_PREFIX: Final = "rmq_sys_"

DEFAULT_TOPIC: Final = "TBW102"
SELF_TEST_TOPIC: Final = "SELF_TEST_TOPIC"
BENCHMARK_TOPIC: Final = "BenchmarkTest"
OFFSET_MOVED_TOPIC: Final = "OFFSET_MOVED_EVENT"
SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
TIMER_TOPIC: Final = "rmq_sys_wheel_timer"
TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"
HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
DISCARD_TOPIC: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
CHECKPOINT_TOPIC: Final = "CHECKPOINT_TOPIC"

# No client may change or delete these, on any broker.
SYSTEM_TOPICS: Final = frozenset(
    {
        DEFAULT_TOPIC,
        SELF_TEST_TOPIC,
        BENCHMARK_TOPIC,
        OFFSET_MOVED_TOPIC,
        SCHEDULE_TOPIC,
        TRACE_TOPIC,
        HALF_TOPIC,
        OP_TOPIC,
        DISCARD_TOPIC,
        CHECKPOINT_TOPIC,
    }
)

# What stands in these is the broker's: a client that wrote to them could forge decisions and deliveries.
UNSENDABLE_TOPICS: Final = frozenset(
    {SCHEDULE_TOPIC, HALF_TOPIC, OP_TOPIC, DISCARD_TOPIC, SELF_TEST_TOPIC, OFFSET_MOVED_TOPIC}
)

TOOLS_GROUP: Final = "TOOLS_CONSUMER"
"""As this group RocketMQ's tools read: it is always there, and has no progress."""

# Groups of RocketMQ's own tools and services, which every broker has.
SYSTEM_GROUPS: Final = (
    TOOLS_GROUP,
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
    "CID_RMQ_SYS_TRANS",
)

_ALLOWED: Final = "^[%|a-zA-Z0-9_-]+$"
_ALLOWED_PATTERN: Final = re.compile(r"[%|a-zA-Z0-9_-]+")


def retry_topic(group: str) -> str:
    """Where the messages that a group failed to consume wait to be delivered again."""
    return RETRY_PREFIX + group


def dead_letter_topic(group: str) -> str:
    """Where the messages go that a group gave up."""
    return DEAD_LETTER_PREFIX + group


def refuse_topic(name: str) -> str | None:
    """Why no topic may have this name; None if one may. Remarks are RocketMQ's."""
    if not name.strip():
        return "The specified topic is blank."
    if not _ALLOWED_PATTERN.fullmatch(name):
        return f"The specified topic: {name}, contains illegal characters, allowing only {_ALLOWED}"
    if name.startswith((RETRY_PREFIX, DEAD_LETTER_PREFIX)):
        if len(name) > DERIVED_TOPIC_LENGTH_MAX:
            return (
                f"The specified topic is DLQ or Retry topic: {name}, and it's longer than topic max length: "
                f"{DERIVED_TOPIC_LENGTH_MAX}"
            )
    elif len(name) > TOPIC_LENGTH_MAX:
        return f"The specified topic: {name}, is longer than topic max length: {TOPIC_LENGTH_MAX}"
    return None


def refuse_group(name: str) -> str | None:
    """Why no group may have this name; None if one may. Remarks are RocketMQ's."""
    if not name.strip():
        return "The specified group is blank."
    if not _ALLOWED_PATTERN.fullmatch(name):
        return f"The specified group: {name}, contains illegal characters, allowing only {_ALLOWED}"
    if len(name) > GROUP_LENGTH_MAX:
        return f"The specified group: {name}, is longer than group max length: {GROUP_LENGTH_MAX}"
    return None
