"""Settings that every server has, and the kinds of value that settings are made of."""

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

Port: TypeAlias = Annotated[int, Meta(ge=0, le=65_535)]
PagesPort: TypeAlias = Annotated[int, Meta(ge=-1, le=65_535)]
Count: TypeAlias = Annotated[int, Meta(ge=1)]
Bytes: TypeAlias = Annotated[int, Meta(ge=1)]
Milliseconds: TypeAlias = Annotated[int, Meta(ge=1)]
Seconds: TypeAlias = Annotated[int, Meta(ge=1)]
Ratio: TypeAlias = Annotated[float, Meta(gt=0.0, le=1.0)]


class LimitsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What peers may cost a server: arguments of `escrowmq.Limits`, by the same names."""

    connections_max: Count = 16_384
    connection_idle_s: Seconds = 120
    frame_size_max_bytes: Bytes = 16_777_216
    in_flight_max_bytes: Bytes = 33_554_432
    in_flight_total_max_bytes: Bytes = 268_435_456
    frame_timeout_s: Seconds = 30
    stall_timeout_s: Seconds = 10


def own_settings(config: Struct, kind: type[Struct]) -> dict[str, Any]:
    """The settings that a configuration has from one of its kinds, and not from what that kind builds on."""
    return {name: getattr(config, name) for name in kind.__annotations__}
