"""GET_TOPICS_BY_CLUSTER (224): asks which topics a cluster has."""

from msgspec import Struct


class GetTopicsByCluster(Struct, frozen=True):
    """Fields of the request."""

    cluster: str
