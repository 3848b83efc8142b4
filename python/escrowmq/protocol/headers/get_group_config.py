"""GET_SUBSCRIPTIONGROUP_CONFIG (352): one group."""

from msgspec import Struct


class GetGroupConfig(Struct, frozen=True):
    """Fields of the request."""

    group: str
