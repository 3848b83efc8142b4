"""CLONE_GROUP_OFFSET (314): a group begins where another one is."""

from msgspec import Struct, field


class CloneGroupOffset(Struct, frozen=True):
    """Fields of the request."""

    source: str = field(name="srcGroup")
    destination: str = field(name="destGroup")
    topic: str = ""
    is_offline: bool = field(default=False, name="offline")
