"""GET_BROKER_MEMBER_GROUP (901): asks for the brokers of one name."""

from msgspec import Struct, field


class GetBrokerMemberGroup(Struct, frozen=True):
    """Fields of the request."""

    cluster: str = field(name="clusterName")
    broker_name: str = field(name="brokerName")
