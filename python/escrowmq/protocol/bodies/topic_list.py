"""The body that answers all questions for lists of topics."""

from msgspec import Struct, field

from escrowmq.protocol import fastjson


class TopicList(Struct, frozen=True, omit_defaults=True):
    """Names of topics and, with the system topics, a broker that can say more."""

    topics: list[str] = field(name="topicList")
    broker_address: str | None = field(default=None, name="brokerAddr")

    def encode(self) -> bytes:
        """The list as JSON."""
        return fastjson.encode_strict(self)


def decode_topic_list(body: bytes | memoryview) -> list[str]:
    """Reads the names of an answer.

    Raises:
        BadBody: It is none.
    """
    return fastjson.decode(body, TopicList).topics
