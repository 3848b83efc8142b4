"""GET_EARLIEST_MSG_STORETIME (32): when the first message of a queue that is still there was stored."""

from msgspec import Struct, field


class GetEarliestStoreTime(Struct, frozen=True):
    """Fields of the request."""

    topic: str
    queue_id: int = field(name="queueId")
