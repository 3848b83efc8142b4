"""PULL_MESSAGE (11) and LITE_PULL_MESSAGE (361)."""

from typing import Final

from msgspec import Struct, field

from escrowmq.protocol.headers.decoding import Long

COMMITS: Final = 1
"""The bit of `sysFlag` that says that the request tells how far the group is."""

MAY_WAIT: Final = 2
"""The bit of `sysFlag` that lets the broker wait for a message where there is none."""

SUBSCRIPTION_IN_REQUEST: Final = 4
"""The bit of `sysFlag` that says that the request brings its subscription along."""


class PullMessage(Struct, frozen=True):
    """Fields of the request."""

    group: str = field(name="consumerGroup")
    topic: str
    queue_id: int = field(name="queueId")
    system_flag: int = field(name="sysFlag")
    subscription_version: int = field(default=0, name="subVersion")
    expression_type: str = field(default="TAG", name="expressionType")
    expression: str = field(default="", name="subscription")
    offset: Long = field(default=0, name="queueOffset")
    count_max: int = field(default=32, name="maxMsgNums")
    commit_offset: Long = field(default=0, name="commitOffset")
    wait_max_ms: Long = field(default=0, name="suspendTimeoutMillis")

    @property
    def has_subscription(self) -> bool:
        """Whether the request brings its subscription along."""
        return bool(self.system_flag & SUBSCRIPTION_IN_REQUEST)

    @property
    def is_by_tag(self) -> bool:
        """Whether the subscription that it brings along filters by tags."""
        return self.expression_type in ("", "TAG")


class PullAnswer(Struct, frozen=True):
    """Fields of the answer that say where to go on."""

    next_offset: Long = field(name="nextBeginOffset")
