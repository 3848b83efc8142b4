"""A topic as its broker knows it, and the bits that say who may do what with it."""

from enum import IntFlag

from msgspec import Struct, field


class Permission(IntFlag):
    """What clients may do with the queues of a topic on one broker."""

    INHERIT = 1
    WRITE = 2
    READ = 4
    PRIORITY = 8


class TopicSystemFlag(IntFlag):
    """How a topic takes part in units: deployments that each serve a share of the users."""

    UNIT = 1
    UNIT_SUBSCRIPTION = 2


class TopicConfig(Struct, frozen=True):
    """What a broker registers of a topic. Absent fields mean what they mean in Java."""

    name: str = field(name="topicName")
    read_queues: int = field(default=16, name="readQueueNums")
    write_queues: int = field(default=16, name="writeQueueNums")
    permissions: int = field(default=Permission.READ | Permission.WRITE, name="perm")
    filter_type: str = field(default="SINGLE_TAG", name="topicFilterType")
    system_flag: int = field(default=0, name="topicSysFlag")
    is_ordered: bool = field(default=False, name="order")
    attributes: dict[str, str] = field(default_factory=dict)
