"""QUERY_SUBSCRIPTION_BY_CONSUMER (345): what a group wants of a topic."""

from msgspec import Struct


class QuerySubscription(Struct, frozen=True):
    """Fields of the request."""

    group: str
    topic: str
