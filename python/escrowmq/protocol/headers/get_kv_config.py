"""GET_KV_CONFIG (101): asks for one value."""

from msgspec import Struct


class GetKvConfig(Struct, frozen=True):
    """Fields of the request."""

    namespace: str
    key: str
