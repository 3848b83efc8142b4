"""The way to a topic: which brokers have queues of it, and where those brokers are.

Field names on the wire are Java's, and fields stand in the order in which Java writes them: the alphabetic one.
"""

from typing import Final

from msgspec import Struct, field

MASTER_ID: Final = 0


class QueueData(Struct, frozen=True):
    """The queues of one topic on the brokers of one name."""

    broker_name: str = field(name="brokerName")
    permissions: int = field(name="perm")
    read_queues: int = field(name="readQueueNums")
    system_flag: int = field(name="topicSysFlag")
    write_queues: int = field(name="writeQueueNums")


class BrokerData(Struct, frozen=True, omit_defaults=True):
    """The brokers of one name: a master, id 0, and its slaves."""

    addresses: dict[int, str] = field(name="brokerAddrs")
    name: str = field(name="brokerName")
    cluster: str
    may_act_as_master: bool = field(name="enableActingMaster")
    zone: str | None = field(default=None, name="zoneName")

    @property
    def has_master(self) -> bool:
        """Whether one of the addresses is a master's."""
        return MASTER_ID in self.addresses


class QueueMapping(Struct, frozen=True, omit_defaults=True):
    """Which logical queues of a static topic a broker has: logical queue to the broker's own."""

    broker_name: str = field(name="bname")
    queue_ids: dict[int, int] = field(name="currIdMap")
    is_dirty: bool = field(name="dirty")
    epoch: int
    topic: str
    total_queues: int = field(name="totalQueues")
    scope: str | None = None


class TopicRouteData(Struct, frozen=True, omit_defaults=True):
    """What a client needs to send to a topic, or to read it."""

    brokers: list[BrokerData] = field(name="brokerDatas")
    filter_servers: dict[str, list[str]] = field(name="filterServerTable")
    queues: list[QueueData] = field(name="queueDatas")
    order_config: str | None = field(default=None, name="orderTopicConf")
    queue_mappings: dict[str, QueueMapping] | None = field(default=None, name="topicQueueMappingByBroker")
