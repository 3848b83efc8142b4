"""Has a consumer consume a message once more, past its group's progress."""

from msgspec import Struct

from escrowmq.admin.client import Admin
from escrowmq.admin.groups import find_members
from escrowmq.admin.messages import FoundMessage
from escrowmq.errors import NotThere
from escrowmq.protocol.bodies.consume_result import decode_consume_result
from escrowmq.protocol.headers.consume_message_directly import ConsumeMessageDirectly
from escrowmq.protocol.question import Question
from escrowmq.protocol.request_codes import RequestCode


class Redelivery(Struct, frozen=True, kw_only=True):
    """What became of it, in RocketMQ's words: CR_SUCCESS, CR_LATER and the like."""

    message_id: str
    group: str
    client_id: str
    result: str
    remark: str | None
    spent_ms: int


def redeliver(admin: Admin, message: FoundMessage, group: str, *, client_id: str | None) -> Redelivery:
    """Hands a message to a member of a group, to the first unless one is named, and waits until it is consumed.

    Raises:
        NotThere: The group has no such member.
        Refused: The member does not consume it.
    """
    (address,) = admin.masters(broker=message.broker).values()
    members = find_members(admin, group, address)
    chosen = next((member for member in members if client_id in (None, member)), None)
    if chosen is None:
        who = "no member" if client_id is None else f"no member {client_id!r}"
        raise NotThere(f"the group {group!r} has {who} at {message.broker!r}", kind="group", name=group)
    header = ConsumeMessageDirectly(group, chosen, message.offset_id, message.topic)
    answer = admin.ask(address, Question(RequestCode.CONSUME_MESSAGE_DIRECTLY, header))
    said = decode_consume_result(answer.body)
    return Redelivery(
        message_id=message.message_id,
        group=group,
        client_id=chosen,
        result=said.result,
        remark=said.remark,
        spent_ms=said.spent_ms,
    )
