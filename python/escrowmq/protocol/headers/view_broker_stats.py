"""VIEW_BROKER_STATS_DATA (315): how much of something there was in the last minute, hour and day."""

from msgspec import Struct, field


class ViewBrokerStats(Struct, frozen=True):
    """Fields of the request."""

    name: str = field(name="statsName")
    key: str = field(name="statsKey")
