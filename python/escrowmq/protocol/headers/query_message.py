"""QUERY_MESSAGE (12): messages of a topic by a key, by the id of their producer, or by a tag."""

from typing import Final

from msgspec import Struct, field

from escrowmq.protocol.headers.decoding import Long

_BY_TAG: Final = "T"


class QueryMessage(Struct, frozen=True):
    """Fields of the request."""

    topic: str
    key: str
    count_max: int = field(name="maxNum")
    begin_ms: Long = field(name="beginTimestamp")
    end_ms: Long = field(name="endTimestamp")
    index_type: str = field(default="", name="indexType")
    unique: str = field(default="", name="_UNIQUE_KEY_QUERY")

    @property
    def is_by_unique_key(self) -> bool:
        """Whether the key is the id that a producer gave its message."""
        return self.unique.lower() == "true"

    @property
    def is_by_tag(self) -> bool:
        """Whether the key is a tag."""
        return self.index_type == _BY_TAG and not self.is_by_unique_key
