"""The body of HEART_BEAT: which producers and consumers a client has, and what they subscribe to.

Clients in other languages than Java write null, or numbers as strings, where Java writes values: both are read.
"""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct, field

from escrowmq.errors import BadBody
from escrowmq.model.names import Name
from escrowmq.model.subscription import Subscription, Version
from escrowmq.protocol import fastjson

CONSUMERS_MAX: Final = 256
"""Consumer groups of one heartbeat: a client must not make thousands at once by inventing names."""

SUBSCRIPTIONS_SIZE_MAX: Final = 128 * 1024
"""Characters that a consumer group's subscriptions may have: enough for a thousand topics."""

# What a subscription takes beside its texts.
_SUBSCRIPTION_SIZE: Final = 64
_TAG_SIZE: Final = 8


class ProducerData(Struct, frozen=True):
    """A producer group of the client."""

    group: Name = field(name="groupName")


class ConsumerData(Struct, frozen=True):
    """A consumer group of the client."""

    group: Name = field(name="groupName")
    consume_type: Name = field(default="CONSUME_PASSIVELY", name="consumeType")
    message_model: Name = field(default="CLUSTERING", name="messageModel")
    consume_from_where: Name = field(default="CONSUME_FROM_LAST_OFFSET", name="consumeFromWhere")
    subscriptions: list[Subscription] = field(default_factory=list, name="subscriptionDataSet")
    is_unit_mode: bool = field(default=False, name="unitMode")

    @property
    def subscriptions_size(self) -> int:
        """About how much there is to keep of its subscriptions."""
        return sum(
            _SUBSCRIPTION_SIZE
            + len(each.topic)
            + len(each.expression)
            + sum(_TAG_SIZE + len(tag) for tag in each.tags)
            + _TAG_SIZE * len(each.codes)
            for each in self.subscriptions
        )


class Heartbeat(Struct, frozen=True):
    """What a client says of itself."""

    client_id: Name = field(name="clientID")
    producers: list[ProducerData] = field(default_factory=list, name="producerDataSet")
    consumers: Annotated[list[ConsumerData], Meta(max_length=CONSUMERS_MAX)] = field(
        default_factory=list, name="consumerDataSet"
    )
    # Other than 0, the heartbeat is of the second kind, which may leave subscriptions out that the broker knows.
    fingerprint: Version = field(default=0, name="heartbeatFingerprint")
    is_without_subscriptions: bool = field(default=False, name="withoutSub")


def decode_heartbeat(body: bytes | memoryview) -> Heartbeat:
    """Reads the body.

    Raises:
        BadBody: It is no heartbeat, or says more than a broker keeps.
    """
    try:
        beat = msgspec.convert(without_nulls(fastjson.decode(body, dict)), Heartbeat, strict=False)
    except msgspec.ValidationError as error:
        raise BadBody(f"the body is no heartbeat: {error}") from error
    for consumer in beat.consumers:
        if consumer.subscriptions_size > SUBSCRIPTIONS_SIZE_MAX:
            raise BadBody(f"the subscriptions of group {consumer.group} are longer than {SUBSCRIPTIONS_SIZE_MAX}")
    return beat


def without_nulls(value: Any) -> Any:
    """The same JSON without the fields that are null."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
