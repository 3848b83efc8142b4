"""WIPE_WRITE_PERM_OF_BROKER (205): clients stop writing to a broker."""

from msgspec import Struct, field


class WipeWritePermission(Struct, frozen=True):
    """Fields of the request."""

    broker_name: str = field(name="brokerName")


class WipeWritePermissionAnswer(Struct, frozen=True):
    """Fields of the answer."""

    topics: int = field(name="wipeTopicCount")
