"""QUERY_DATA_VERSION (322): a broker asks whether it has to register again."""

from msgspec import Struct, field

from escrowmq.protocol.headers.decoding import Long


class QueryDataVersion(Struct, frozen=True):
    """Fields of the request."""

    broker_name: str = field(name="brokerName")
    broker_address: str = field(name="brokerAddr")
    cluster: str = field(name="clusterName")
    broker_id: Long = field(name="brokerId")
