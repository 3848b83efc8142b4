"""DELETE_KV_CONFIG (102): removes a value."""

from msgspec import Struct


class DeleteKvConfig(Struct, frozen=True):
    """Fields of the request."""

    namespace: str
    key: str
