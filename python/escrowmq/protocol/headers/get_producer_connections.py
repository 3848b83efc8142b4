"""GET_PRODUCER_CONNECTION_LIST (204): the producers of a group."""

from msgspec import Struct, field


class GetProducerConnections(Struct, frozen=True):
    """Fields of the request."""

    group: str = field(name="producerGroup")
