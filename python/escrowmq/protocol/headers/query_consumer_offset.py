"""QUERY_CONSUMER_OFFSET (14): what a group reads next of a queue."""

from msgspec import Struct, field


class QueryConsumerOffset(Struct, frozen=True):
    """Fields of the request. Unless told not to, a broker says 0 of a young queue that the group has not read."""

    group: str = field(name="consumerGroup")
    topic: str
    queue_id: int = field(name="queueId")
    is_zero_if_young: bool = field(default=True, name="setZeroIfNotFound")
