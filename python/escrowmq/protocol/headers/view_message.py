"""VIEW_MESSAGE_BY_ID (33): the message at a log offset, which is half of its id."""

from msgspec import Struct, field

from escrowmq.protocol.headers.decoding import Long


class ViewMessage(Struct, frozen=True):
    """Fields of the request."""

    log_offset: Long = field(name="offset")
