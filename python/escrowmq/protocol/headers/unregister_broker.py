"""UNREGISTER_BROKER (104): a broker stops in good order."""

from msgspec import Struct, field

from escrowmq.protocol.headers.decoding import Long


class UnregisterBroker(Struct, frozen=True):
    """Fields of the request."""

    broker_name: str = field(name="brokerName")
    broker_address: str = field(name="brokerAddr")
    cluster: str = field(name="clusterName")
    broker_id: Long = field(name="brokerId")
