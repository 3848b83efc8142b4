"""GET_CONSUMER_RUNNING_INFO (307): what a consumer says of itself. Its fields go on to the consumer as they are."""

from msgspec import Struct, field


class GetConsumerRunningInfo(Struct, frozen=True):
    """Fields of the request."""

    group: str = field(name="consumerGroup")
    client_id: str = field(name="clientId")
