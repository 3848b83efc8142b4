"""How a client does what producers and consumers have in common."""

from typing import Annotated, Final

from msgspec import Meta, Struct

_Seconds = Annotated[float, Meta(gt=0)]


class ClientOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Times and limits; the defaults are those of RocketMQ's clients.

    Producers and consumers of one process share a client where name servers and options are the same.
    """

    ask_timeout_s: _Seconds = 3.0
    """How long a name server or a broker may take for what users do not wait for: routes, heartbeats, offsets."""
    connect_timeout_s: _Seconds = 3.0
    """How long a connection may take to be made."""
    heartbeat_interval_s: _Seconds = 30.0
    """How often brokers hear of the producers and consumers."""
    route_refresh_interval_s: _Seconds = 30.0
    """How often routes are asked for again."""
    workers_max: Annotated[int, Meta(ge=1)] = 16
    """Most functions of users, such as listeners and checks, that run at a time."""
    unit: str = ""
    """Name of the unit, which becomes part of the client's id."""


DEFAULTS: Final = ClientOptions()
