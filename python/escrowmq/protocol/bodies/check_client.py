"""The body of CHECK_CLIENT_CONFIG: a subscription that is not by tag, for the broker to try before it is used."""

import msgspec
from msgspec import Struct, field

from escrowmq.errors import BadBody
from escrowmq.model.subscription import Subscription
from escrowmq.protocol import fastjson
from escrowmq.protocol.bodies.heartbeat import without_nulls


class CheckClient(Struct, frozen=True):
    """A client, its group and the subscription."""

    client_id: str = field(default="", name="clientId")
    group: str = ""
    subscription: Subscription | None = field(default=None, name="subscriptionData")


def decode_check_client(body: bytes | memoryview) -> CheckClient:
    """Reads the body; none means that there is nothing to check.

    Raises:
        BadBody: It is none.
    """
    if not body:
        return CheckClient()
    try:
        return msgspec.convert(without_nulls(fastjson.decode(body, dict)), CheckClient, strict=False)
    except msgspec.ValidationError as error:
        raise BadBody(f"the body is no check of a client: {error}") from error
