"""ADD_WRITE_PERM_OF_BROKER (327): clients may write to a broker again."""

from msgspec import Struct, field


class AddWritePermission(Struct, frozen=True):
    """Fields of the request."""

    broker_name: str = field(name="brokerName")


class AddWritePermissionAnswer(Struct, frozen=True):
    """Fields of the answer."""

    topics: int = field(name="addTopicCount")
