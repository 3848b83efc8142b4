"""GET_ROUTEINFO_BY_TOPIC (105): the request that every client begins with."""

from msgspec import Struct, field


class GetRouteInfo(Struct, frozen=True):
    """Fields of the request."""

    topic: str
    accepts_strict_json_only: bool = field(default=False, name="acceptStandardJsonOnly")
    zone_mode: str = field(default="", name="__ZONE_MODE")
    zone: str = field(default="", name="__ZONE_NAME")

    @property
    def wants_zone(self) -> bool:
        """Whether the client wants the brokers of its zone only."""
        return self.zone_mode.lower() == "true" and bool(self.zone.strip())
