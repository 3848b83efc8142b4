"""The body that answers QUERY_SUBSCRIPTION_BY_CONSUMER."""

from escrowmq.model.subscription import Subscription
from escrowmq.protocol import fastjson


def encode_subscription(group: str, topic: str, subscription: Subscription | None) -> bytes:
    """What a group wants of a topic; without a subscription where none of its consumers is there."""
    wanted = {} if subscription is None else {"subscriptionData": subscription}
    return fastjson.encode_strict({"group": group, **wanted, "topic": topic})
