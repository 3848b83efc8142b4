"""A pull as a request, and what its answer means. Pure."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, Protocol

from msgspec import Struct

from escrowmq._core import Record, decode_records
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.errors import BadHeader
from escrowmq.model.message_queue import MessageQueue
from escrowmq.model.subscription import Subscription
from escrowmq.protocol.headers.pull_message import COMMITS, MAY_WAIT, SUBSCRIPTION_IN_REQUEST, PullMessage
from escrowmq.protocol.response_codes import ResponseCode


class Reply(Protocol):
    """A server's answer: `escrowmq._core.Response`, or a test's own."""

    @property
    def code(self) -> int:
        """Response code."""

    @property
    def remark(self) -> str | None:
        """A note for people."""

    @property
    def ext_fields(self) -> Mapping[str, str]:
        """Its fields."""

    @property
    def body(self) -> memoryview | bytes:
        """Its body."""


class Pulled(Enum):
    """How a pull ended."""

    FOUND = "found"
    NOTHING = "nothing"
    MOVED = "moved"
    """What was asked for is not there: the queue begins later, ends earlier, or an operator moved the group."""
    REFUSED = "refused"


class PullAnswer(Struct, frozen=True):
    """What the broker said."""

    kind: Pulled
    next_offset: int = 0
    messages: list[ReceivedMessage] = []
    remark: str = ""


def pull_header(
    group: str,
    queue: MessageQueue,
    offset: int,
    subscription: Subscription,
    *,
    commit: int | None,
    count_max: int,
    wait_max_ms: int,
    brings_subscription: bool,
) -> PullMessage:
    """The fields of PULL_MESSAGE.

    Args:
        group: Who reads.
        queue: What is read.
        offset: From where.
        subscription: What is wanted.
        commit: How far the group is, which the broker notes by the way.
        count_max: Most messages that are wanted at once.
        wait_max_ms: How long the broker may wait for a message.
        brings_subscription: Whether the broker goes by this subscription, and not by the one of the heartbeat.
    """
    return PullMessage(
        group=group,
        topic=queue.topic,
        queue_id=queue.queue_id,
        system_flag=(commit is not None) * COMMITS
        | (wait_max_ms > 0) * MAY_WAIT
        | brings_subscription * SUBSCRIPTION_IN_REQUEST,
        subscription_version=subscription.version,
        expression_type=subscription.expression_type,
        expression=subscription.expression if brings_subscription else "",
        offset=offset,
        count_max=count_max,
        commit_offset=commit or 0,
        wait_max_ms=wait_max_ms,
    )


def read_pull(queue: MessageQueue, reply: Reply, is_wanted: Callable[[Record], bool] | None) -> PullAnswer:
    """What an answer means.

    Raises:
        BadHeader: It does not say where to go on.
        BadRecord: Its body is something else than messages.
    """
    kind = _KINDS.get(reply.code)
    if kind is None:
        return PullAnswer(Pulled.REFUSED, remark=f"{reply.remark or ''} [{reply.code}]".strip())
    fields = reply.ext_fields
    next_offset = _number(fields, "nextBeginOffset")
    if kind is not Pulled.FOUND:
        return PullAnswer(kind, next_offset)
    records = decode_records(reply.body)
    if is_wanted is not None:
        records = [record for record in records if is_wanted(record)]
    messages = [ReceivedMessage(record, queue) for record in records]
    return PullAnswer(kind, next_offset, messages)


def _number(fields: Mapping[str, str], name: str) -> int:
    try:
        return int(fields[name])
    except (KeyError, ValueError) as error:
        raise BadHeader(f"the field {name} of a pull's answer is {fields.get(name)!r}", field=name) from error


_KINDS: Final = {
    int(ResponseCode.SUCCESS): Pulled.FOUND,
    int(ResponseCode.PULL_NOT_FOUND): Pulled.NOTHING,
    int(ResponseCode.PULL_RETRY_IMMEDIATELY): Pulled.NOTHING,
    int(ResponseCode.PULL_OFFSET_MOVED): Pulled.MOVED,
}
