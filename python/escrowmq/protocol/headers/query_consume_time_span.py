"""QUERY_CONSUME_TIME_SPAN (303): from when to when the messages of a topic are, and how far a group is."""

from msgspec import Struct


class QueryConsumeTimeSpan(Struct, frozen=True):
    """Fields of the request."""

    topic: str
    group: str
