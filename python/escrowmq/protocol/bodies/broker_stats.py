"""The body that answers VIEW_BROKER_STATS_DATA. Fields stand in the order in which Java writes them."""

from msgspec import Struct, field

from escrowmq.protocol import fastjson


class Stat(Struct, frozen=True):
    """How much there was in a time. Compat: the average per request is 0, since requests are not counted."""

    total: int = field(name="sum")
    per_s: float = field(name="tps")
    per_request: float = field(name="avgpt", default=0.0)


class BrokerStats(Struct, frozen=True):
    """How much there was lately."""

    day: Stat = field(name="statsDay")
    hour: Stat = field(name="statsHour")
    minute: Stat = field(name="statsMinute")

    def encode(self) -> bytes:
        """As JSON."""
        return fastjson.encode_strict(self)
