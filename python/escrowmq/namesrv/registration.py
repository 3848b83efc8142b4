"""What a broker says when it registers, and what it is told."""

from msgspec import Struct

from escrowmq.model.data_version import DataVersion
from escrowmq.model.route import MASTER_ID, QueueMapping
from escrowmq.model.topic import TopicConfig


class Registration(Struct, frozen=True, kw_only=True):
    """A broker, where it is and what it has."""

    cluster: str
    broker_name: str
    broker_id: int
    address: str
    ha_address: str
    connection: int
    topics: dict[str, TopicConfig]
    data_version: DataVersion = DataVersion()
    zone: str | None = None
    # None means the name server's own.
    timeout_ms: int | None = None
    # None means a broker from before 5.0, which never stands in for its master.
    may_act_as_master: bool | None = None
    # None means that what the broker said before holds.
    filter_servers: list[str] | None = None
    queue_mappings: dict[str, QueueMapping] = {}

    @property
    def is_master(self) -> bool:
        """Whether it takes writes of its own."""
        return self.broker_id == MASTER_ID


class Registered(Struct, frozen=True):
    """What a slave is told: where its master is, if there is one."""

    ha_address: str | None = None
    master_address: str | None = None


class LiveBroker(Struct, frozen=True, kw_only=True):
    """A broker that registered and was heard of since."""

    cluster: str
    broker_name: str
    broker_id: int
    address: str
    ha_address: str
    connection: int
    data_version: DataVersion
    timeout_ms: int
    seen_at_ms: int

    def is_overdue(self, now_ms: int) -> bool:
        """Whether it was silent for longer than it may be."""
        return self.seen_at_ms + self.timeout_ms < now_ms
