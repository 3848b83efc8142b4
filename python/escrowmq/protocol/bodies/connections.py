"""The bodies that answer GET_CONSUMER_CONNECTION_LIST and GET_PRODUCER_CONNECTION_LIST.

Fields stand in the order in which Java writes them.
"""

from msgspec import Struct, field

from escrowmq.model.subscription import Subscription
from escrowmq.protocol import fastjson


class Connection(Struct, frozen=True):
    """A member of a group."""

    address: str = field(name="clientAddr")
    client_id: str = field(name="clientId")
    language: str
    version: int


class ConsumerConnections(Struct, frozen=True):
    """The consumers of a group."""

    connections: list[Connection] = field(name="connectionSet")
    consume_from_where: str = field(name="consumeFromWhere")
    consume_type: str = field(name="consumeType")
    message_model: str = field(name="messageModel")
    subscriptions: dict[str, Subscription] = field(name="subscriptionTable")

    def encode(self) -> bytes:
        """As JSON."""
        return fastjson.encode_strict(self)


class ProducerConnections(Struct, frozen=True):
    """The producers of a group."""

    connections: list[Connection] = field(name="connectionSet")

    def encode(self) -> bytes:
        """As JSON."""
        return fastjson.encode_strict(self)


def decode_consumer_connections(body: bytes | memoryview) -> ConsumerConnections:
    """Reads the answer to GET_CONSUMER_CONNECTION_LIST.

    Raises:
        BadBody: It is none.
    """
    return fastjson.decode(body, ConsumerConnections)
