"""What speaks against a filter by properties, as RocketMQ says it; None where nothing does.

A wrong expression is named with its place. Compat: a pull that brings one along gets every message from RocketMQ; ours
says what is wrong with it.
"""

from escrowmq.broker.consumer_filters import WrongExpression, compiled
from escrowmq.broker.context import Context
from escrowmq.model.subscription import Subscription
from escrowmq.protocol.headers.pull_message import PullMessage
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode


def refuse_type(context: Context, expression_type: str) -> Answer | None:
    """Refuses filters by properties where an operator does."""
    if context.settings.broker.has_property_filters:
        return None
    return Answer(
        ResponseCode.SYSTEM_ERROR, f"The broker does not support consumer to filter message by {expression_type}"
    )


def refuse_expression(expression_type: str, expression: str) -> Answer | None:
    """Refuses what is no expression."""
    reason = _what_is_wrong(expression_type, expression)
    return None if reason is None else Answer(ResponseCode.SUBSCRIPTION_PARSE_FAILED, reason)


def refuse_brought(context: Context, header: PullMessage) -> Answer | None:
    """Refuses the filter that a pull brings along."""
    if header.is_by_tag:
        return None
    if not header.expression:
        return Answer(ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed")
    refusal = refuse_type(context, header.expression_type)
    return refusal or refuse_expression(header.expression_type, header.expression)


def refuse_known(context: Context, header: PullMessage, subscription: Subscription) -> Answer | None:
    """Refuses a pull by the filter that its group's heartbeats brought."""
    if subscription.is_by_tag:
        return None
    known = context.filters.find(header.group, header.topic)
    if known is None:
        reason = _what_is_wrong(subscription.expression_type, subscription.expression)
        return Answer(
            ResponseCode.FILTER_DATA_NOT_EXIST,
            "The broker's consumer filter data is not exist!Your expression may be wrong!"
            + ("" if reason is None else f" {reason}"),
        )
    if known.version < max(header.subscription_version, subscription.version):
        return Answer(ResponseCode.FILTER_DATA_NOT_LATEST, "the consumer's consumer filter data not latest")
    return refuse_type(context, subscription.expression_type)


def _what_is_wrong(expression_type: str, expression: str) -> str | None:
    try:
        compiled(expression_type, expression)
    except WrongExpression as error:
        return str(error)
    return None
