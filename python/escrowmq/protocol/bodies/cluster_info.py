"""The body that answers GET_BROKER_CLUSTER_INFO: every broker, and every cluster with the names of its brokers."""

from msgspec import Struct, field

from escrowmq.model.route import BrokerData
from escrowmq.protocol import fastjson


class ClusterInfo(Struct, frozen=True):
    """All brokers, by name and by cluster."""

    brokers: dict[str, BrokerData] = field(name="brokerAddrTable")
    clusters: dict[str, list[str]] = field(name="clusterAddrTable")

    def encode(self) -> bytes:
        """Compat: broker ids are written without quotes, whatever the version of who asks."""
        return fastjson.encode(self)


def decode_cluster_info(body: bytes | memoryview) -> ClusterInfo:
    """Reads the answer.

    Raises:
        BadBody: It is none.
    """
    return fastjson.decode(body, ClusterInfo)
