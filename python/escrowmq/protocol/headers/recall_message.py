"""RECALL_MESSAGE (370)."""

from msgspec import Struct, field


class RecallMessage(Struct, frozen=True):
    """Fields of the request."""

    topic: str
    handle: str = field(name="recallHandle")
    producer_group: str = field(default="", name="producerGroup")
