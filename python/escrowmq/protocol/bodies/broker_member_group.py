"""The body that answers GET_BROKER_MEMBER_GROUP: the brokers of one name."""

from msgspec import Struct, field

from escrowmq.protocol import fastjson


class BrokerMemberGroup(Struct, frozen=True):
    """Broker ids and addresses."""

    addresses: dict[int, str] = field(name="brokerAddrs")
    broker_name: str = field(name="brokerName")
    cluster: str

    def encode(self) -> bytes:
        """Compat: broker ids are written without quotes."""
        return fastjson.encode({"brokerMemberGroup": self})
