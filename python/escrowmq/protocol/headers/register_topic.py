"""REGISTER_TOPIC_IN_NAMESRV (217): adds queues of a topic; the body is its route."""

from msgspec import Struct


class RegisterTopic(Struct, frozen=True):
    """Fields of the request."""

    topic: str
