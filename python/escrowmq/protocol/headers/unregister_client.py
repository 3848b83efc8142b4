"""UNREGISTER_CLIENT (35): a producer or a consumer stops."""

from msgspec import Struct, field


class UnregisterClient(Struct, frozen=True):
    """Fields of the request."""

    client_id: str = field(name="clientID")
    producer_group: str | None = field(default=None, name="producerGroup")
    consumer_group: str | None = field(default=None, name="consumerGroup")
