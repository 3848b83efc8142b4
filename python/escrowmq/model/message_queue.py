"""A queue as clients name it: by topic, broker and number."""

from msgspec import Struct, field


class MessageQueue(Struct, frozen=True):
    """One queue of a topic on one broker. Fields stand in the order in which Java writes them."""

    broker_name: str = field(name="brokerName")
    queue_id: int = field(name="queueId")
    topic: str
