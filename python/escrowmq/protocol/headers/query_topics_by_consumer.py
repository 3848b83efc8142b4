"""QUERY_TOPICS_BY_CONSUMER (343): the topics that a group has read."""

from msgspec import Struct


class QueryTopicsByConsumer(Struct, frozen=True):
    """Fields of the request."""

    group: str
