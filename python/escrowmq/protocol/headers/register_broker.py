"""REGISTER_BROKER (103): a broker says where it is and which topics it has."""

from msgspec import Struct, field

from escrowmq.protocol.headers.decoding import Long


class RegisterBroker(Struct, frozen=True):
    """Fields of the request."""

    broker_name: str = field(name="brokerName")
    broker_address: str = field(name="brokerAddr")
    cluster: str = field(name="clusterName")
    ha_address: str = field(name="haServerAddr")
    broker_id: Long = field(name="brokerId")
    heartbeat_timeout_ms: Long | None = field(default=None, name="heartbeatTimeoutMillis")
    # None means a broker from before 5.0, which never stands in for its master.
    may_act_as_master: bool | None = field(default=None, name="enableActingMaster")
    is_compressed: bool = field(default=False, name="compressed")
    body_crc: Long = field(default=0, name="bodyCrc32")
    zone: str | None = field(default=None, name="__ZONE_NAME")
