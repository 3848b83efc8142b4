"""INVOKE_BROKER_TO_GET_CONSUMER_STATUS (223): what the members of a group say they have read."""

from msgspec import Struct, field


class GetConsumerStatus(Struct, frozen=True):
    """Fields of the request."""

    topic: str
    group: str
    client_id: str = field(default="", name="clientAddr")
