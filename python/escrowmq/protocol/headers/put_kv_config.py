"""PUT_KV_CONFIG (100): sets a value of the configuration that a name server keeps."""

from msgspec import Struct


class PutKvConfig(Struct, frozen=True):
    """Fields of the request."""

    namespace: str
    key: str
    value: str
