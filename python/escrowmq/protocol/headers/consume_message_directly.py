"""CONSUME_MESSAGE_DIRECTLY (309): a consumer is to consume one message now. Its fields go on to the consumer."""

from msgspec import Struct, field


class ConsumeMessageDirectly(Struct, frozen=True):
    """Fields of the request."""

    group: str = field(name="consumerGroup")
    client_id: str = field(default="", name="clientId")
    message_id: str = field(default="", name="msgId")
    topic: str = ""
