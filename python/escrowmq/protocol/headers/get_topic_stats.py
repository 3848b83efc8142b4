"""GET_TOPIC_STATS_INFO (202): what the queues of a topic hold."""

from msgspec import Struct


class GetTopicStats(Struct, frozen=True):
    """Fields of the request."""

    topic: str
