"""BROKER_HEARTBEAT (904): a broker is alive and has nothing to say."""

from msgspec import Struct, field


class BrokerHeartbeat(Struct, frozen=True):
    """Fields of the request."""

    cluster: str = field(name="clusterName")
    broker_address: str = field(name="brokerAddr")
    broker_name: str = field(name="brokerName")
