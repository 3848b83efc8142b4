"""GET_TOPIC_CONFIG (351): one topic."""

from msgspec import Struct


class GetTopicConfig(Struct, frozen=True):
    """Fields of the request."""

    topic: str
