"""UPDATE_AND_CREATE_TOPIC (17): makes a topic, or alters it."""

from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct, field

QUEUES_MAX: Final = 65_536
"""More queues than any topic needs, and few enough that a wrong number does no harm."""

PERMISSIONS_MAX: Final = 15
"""All bits of a permission."""

QueueCount: TypeAlias = Annotated[int, Meta(ge=0, le=QUEUES_MAX)]


class CreateTopic(Struct, frozen=True):
    """Fields of the request."""

    topic: str
    default_topic: str = field(name="defaultTopic")
    read_queues: QueueCount = field(name="readQueueNums")
    write_queues: QueueCount = field(name="writeQueueNums")
    permissions: Annotated[int, Meta(ge=0, le=PERMISSIONS_MAX)] = field(name="perm")
    filter_type: str = field(name="topicFilterType")
    system_flag: int = field(default=0, name="topicSysFlag")
    is_ordered: bool = field(default=False, name="order")
    attributes: str = ""
