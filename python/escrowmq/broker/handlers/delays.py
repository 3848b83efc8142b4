"""What others ask about delayed messages."""

from escrowmq.broker.context import Context
from escrowmq.broker.ports import ClientRequest
from escrowmq.protocol.bodies.delay_offsets import encode_delay_offsets
from escrowmq.protocol.messages import Answer


def offsets(context: Context, _: ClientRequest) -> Answer:
    """GET_ALL_DELAY_OFFSET: how far each level is delivered, as delayOffset.json says it."""
    return Answer(body=encode_delay_offsets(context.delayed.offsets()))
