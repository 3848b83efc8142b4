"""What a consumer wants of a topic, and what its group may do.

Field names on the wire are Java's, and fields stand in the order in which Java writes them.
"""

from typing import Annotated, Any, Final, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

from escrowmq.model.names import Name

TAG: Final = "TAG"
"""The expression type that filters by tags; an absent one means it too."""

SQL92: Final = "SQL92"
"""The expression type that filters by properties."""

ALL_TAGS: Final = "*"
"""The expression that every message matches."""

BROADCASTING: Final = "BROADCASTING"
"""The message model in which every member of a group gets every message."""

TagCode: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
"""The hash of a tag, which Java keeps in 32 bits."""

Version: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Subscription(Struct, frozen=True):
    """What a group wants of a topic."""

    is_class_filter: bool = field(default=False, name="classFilterMode")
    codes: list[TagCode] = field(default_factory=list, name="codeSet")
    expression_type: Name = field(default=TAG, name="expressionType")
    expression: str = field(default=ALL_TAGS, name="subString")
    version: Version = field(default=0, name="subVersion")
    tags: list[str] = field(default_factory=list, name="tagsSet")
    topic: Name = ""

    @property
    def is_by_tag(self) -> bool:
        """Whether it filters by tags, which the codes of the queue answer."""
        return self.expression_type in ("", TAG)

    @property
    def wants_all(self) -> bool:
        """Whether every message matches."""
        return self.is_by_tag and self.expression in ("", ALL_TAGS)


class SubscriptionGroup(Struct, frozen=True):
    """What the consumers of one group may do."""

    attributes: dict[str, str] = field(default_factory=dict)
    broker_id: int = field(default=0, name="brokerId")
    may_broadcast: bool = field(default=True, name="consumeBroadcastEnable")
    may_consume: bool = field(default=True, name="consumeEnable")
    may_consume_from_start: bool = field(default=True, name="consumeFromMinEnable")
    is_orderly: bool = field(default=False, name="consumeMessageOrderly")
    consume_timeout_minutes: int = field(default=15, name="consumeTimeoutMinute")
    name: str = field(default="", name="groupName")
    retry_policy: dict[str, Any] = field(default_factory=lambda: {"type": "CUSTOMIZED"}, name="groupRetryPolicy")
    system_flag: int = field(default=0, name="groupSysFlag")
    notifies_members: bool = field(default=True, name="notifyConsumerIdsChangedEnable")
    retries_max: int = field(default=16, name="retryMaxTimes")
    retry_queues: Annotated[int, Meta(ge=0, le=65_536)] = field(default=1, name="retryQueueNums")
    # Kept for brokers that restrict a group to fixed subscriptions; ours does not look into it.
    fixed_subscriptions: list[dict[str, Any]] | UnsetType = field(default=UNSET, name="subscriptionDataSet")
    slow_broker_id: int = field(default=1, name="whichBrokerWhenConsumeSlowly")
