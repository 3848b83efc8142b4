"""GET_BROKER_CONSUME_STATS (317): how far all groups of a broker are behind."""

from msgspec import Struct, field


class GetBrokerConsumeStats(Struct, frozen=True):
    """Fields of the request."""

    is_ordered: bool = field(name="isOrder")
