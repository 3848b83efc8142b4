"""Requests of operators that only a consumer can answer: they go on to it, and its reply comes back."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from escrowmq.broker.client_registry import Client
from escrowmq.broker.context import Context
from escrowmq.broker.outcome import Forward, Notice, Outcome, Reply, Silence
from escrowmq.broker.ports import ClientRequest
from escrowmq.errors import BadBody, NoRecord
from escrowmq.model.message_id import log_offset_of
from escrowmq.protocol.bodies.consumer_status import decode_client_status, encode_consumer_status
from escrowmq.protocol.headers.consume_message_directly import ConsumeMessageDirectly
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.get_consumer_running_info import GetConsumerRunningInfo
from escrowmq.protocol.headers.get_consumer_status import GetConsumerStatus
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

WAIT_MS: Final = 10_000
STATUS_WAIT_MS: Final = 5_000


def running_info(context: Context, request: ClientRequest) -> Outcome:
    """GET_CONSUMER_RUNNING_INFO: what a consumer says of its queues, settings and threads."""
    header = decode_header(GetConsumerRunningInfo, request.ext_fields)
    return _call(context, request, header.group, header.client_id, fields=request.ext_fields, body=bytes(request.body))


def consume_directly(context: Context, request: ClientRequest) -> Outcome:
    """CONSUME_MESSAGE_DIRECTLY: a consumer consumes one message now, and says how that went."""
    header = decode_header(ConsumeMessageDirectly, request.ext_fields)
    try:
        body = bytes(context.store.record_at(log_offset_of(header.message_id)).bytes)
    except (NoRecord, ValueError):
        return Answer(ResponseCode.SYSTEM_ERROR, f"can not find message by the id, {header.message_id}")
    fields = {**request.ext_fields, "brokerName": context.broker_name}
    topic, group = context.topics.find(header.topic), context.groups.find(header.group)
    if topic is not None:
        fields["topicSysFlag"] = str(topic.system_flag)
    if group is not None:
        fields["groupSysFlag"] = str(group.system_flag)
    return _call(context, request, header.group, header.client_id, fields=fields, body=body)


def status(context: Context, request: ClientRequest) -> Outcome:
    """INVOKE_BROKER_TO_GET_CONSUMER_STATUS: what each member of a group, or one of them, says it has read."""
    header = decode_header(GetConsumerStatus, request.ext_fields)
    group = context.clients.consumer_group(header.group)
    if group is None:
        return Answer(ResponseCode.SYSTEM_ERROR, f"No Any Consumer online in the consumer group: [{header.group}]")
    asked = [
        client
        for client in group.members.values()
        if not header.client_id.strip() or client.client_id == header.client_id
    ]
    fields = {"topic": header.topic, "group": header.group}
    code = RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT
    questions = [Notice(client.connection, code, fields) for client in asked]
    return Forward(questions, partial(_gather, asked), STATUS_WAIT_MS)


def _call(
    context: Context,
    request: ClientRequest,
    group_name: str,
    client_id: str,
    *,
    fields: Mapping[str, str],
    body: bytes,
) -> Outcome:
    group = context.clients.consumer_group(group_name)
    members = () if group is None else group.members.values()
    client = next((member for member in members if member.client_id == client_id), None)
    if client is None:
        return Answer(ResponseCode.SYSTEM_ERROR, f"The Consumer <{group_name}> <{client_id}> not online")
    question = Notice(client.connection, request.code, fields, body)
    return Forward([question], partial(_pass_back, f"consumer <{group_name}> <{client_id}>"), WAIT_MS)


def _pass_back(who: str, replies: Sequence[Reply]) -> Answer:
    (reply,) = replies
    if reply is Silence.LATE:
        return Answer(ResponseCode.CONSUME_MSG_TIMEOUT, f"{who} Timeout: no reply within {WAIT_MS} ms")
    if reply is Silence.GONE:
        return Answer(ResponseCode.SYSTEM_ERROR, f"invoke {who} Exception: its connection is gone")
    return reply


def _gather(clients: Sequence[Client], replies: Sequence[Reply]) -> Answer:
    """What those said that did; of a client that said nothing, or nonsense, there is nothing to tell."""
    said = {}
    for client, reply in zip(clients, replies, strict=True):
        if isinstance(reply, Answer) and reply.code == ResponseCode.SUCCESS and reply.body:
            try:
                said[client.client_id] = decode_client_status(reply.body)
            except BadBody:
                continue
    return Answer(body=encode_consumer_status(said))
