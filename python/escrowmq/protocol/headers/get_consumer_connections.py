"""GET_CONSUMER_CONNECTION_LIST (203): the members of a group, and what they subscribe to."""

from msgspec import Struct, field


class GetConsumerConnections(Struct, frozen=True):
    """Fields of the request."""

    group: str = field(name="consumerGroup")
