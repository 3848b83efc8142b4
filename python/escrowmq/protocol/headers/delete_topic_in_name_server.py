"""DELETE_TOPIC_IN_NAMESRV (216): forgets a topic, of one cluster if it names one."""

from msgspec import Struct, field


class DeleteTopicInNameServer(Struct, frozen=True):
    """Fields of the request."""

    topic: str
    cluster: str = field(default="", name="clusterName")
