"""GET_CONSUMER_LIST_BY_GROUP (38): the members of a group."""

from msgspec import Struct, field


class GetConsumerList(Struct, frozen=True):
    """Fields of the request."""

    group: str = field(name="consumerGroup")
