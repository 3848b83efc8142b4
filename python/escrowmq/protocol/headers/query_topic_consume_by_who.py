"""QUERY_TOPIC_CONSUME_BY_WHO (300): the groups that read a topic."""

from msgspec import Struct


class QueryTopicConsumeByWho(Struct, frozen=True):
    """Fields of the request."""

    topic: str
