"""DELETE_TOPIC_IN_BROKER (215): deletes a topic and what groups have read of it."""

from msgspec import Struct


class DeleteTopicInBroker(Struct, frozen=True):
    """Fields of the request."""

    topic: str
