"""UPDATE_CONSUMER_OFFSET (15): what a group reads next."""

from msgspec import Struct, field

from escrowmq.protocol.headers.decoding import Long


class UpdateConsumerOffset(Struct, frozen=True):
    """Fields of the request."""

    group: str = field(name="consumerGroup")
    topic: str
    queue_id: int = field(name="queueId")
    offset: Long = field(name="commitOffset")
