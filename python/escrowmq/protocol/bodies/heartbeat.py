"""The body of HEART_BEAT: which producers and consumers a client has, and what they subscribe to.

Clients in other languages than Java write null, or numbers as strings, where Java writes values: both are read.
"""

from typing import Any

import msgspec
from msgspec import Struct, field

from escrowmq.errors import BadBody
from escrowmq.model.subscription import Subscription
from escrowmq.protocol import fastjson


class ProducerData(Struct, frozen=True):
    """A producer group of the client."""

    group: str = field(name="groupName")


class ConsumerData(Struct, frozen=True):
    """A consumer group of the client."""

    group: str = field(name="groupName")
    consume_type: str = field(default="CONSUME_PASSIVELY", name="consumeType")
    message_model: str = field(default="CLUSTERING", name="messageModel")
    consume_from_where: str = field(default="CONSUME_FROM_LAST_OFFSET", name="consumeFromWhere")
    subscriptions: list[Subscription] = field(default_factory=list, name="subscriptionDataSet")
    is_unit_mode: bool = field(default=False, name="unitMode")


class Heartbeat(Struct, frozen=True):
    """What a client says of itself."""

    client_id: str = field(name="clientID")
    producers: list[ProducerData] = field(default_factory=list, name="producerDataSet")
    consumers: list[ConsumerData] = field(default_factory=list, name="consumerDataSet")
    # Other than 0, the heartbeat is of the second kind, which may leave subscriptions out that the broker knows.
    fingerprint: int = field(default=0, name="heartbeatFingerprint")
    is_without_subscriptions: bool = field(default=False, name="withoutSub")


def decode_heartbeat(body: bytes | memoryview) -> Heartbeat:
    """Reads the body.

    Raises:
        BadBody: It is no heartbeat.
    """
    try:
        return msgspec.convert(without_nulls(fastjson.decode(body, dict)), Heartbeat, strict=False)
    except msgspec.ValidationError as error:
        raise BadBody(f"the body is no heartbeat: {error}") from error


def without_nulls(value: Any) -> Any:
    """The same JSON without the fields that are null."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
