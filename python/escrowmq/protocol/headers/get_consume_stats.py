"""GET_CONSUME_STATS (208): how far a group is behind, in all of its topics or in some."""

from msgspec import Struct, field


class GetConsumeStats(Struct, frozen=True):
    """Fields of the request."""

    group: str = field(name="consumerGroup")
    topic: str = ""
    topic_list: str = field(default="", name="topicList")

    @property
    def topics(self) -> list[str]:
        """The topics of the list, separated by semicolons."""
        return [topic for topic in self.topic_list.split(";") if topic.strip()]
