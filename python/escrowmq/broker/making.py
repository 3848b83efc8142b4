"""What the requests of a batch make by naming it: groups and topics that are not there yet.

A table's file is replaced whole with each change, so what a batch names is made at once, before the first of its
requests is handled. What can't be made here, a handler meets again, and tells whoever asked for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

import structlog

from escrowmq import _core
from escrowmq.broker.context import Context
from escrowmq.broker.handlers import clients, sends
from escrowmq.broker.ports import ClientRequest
from escrowmq.broker.refusal import Refused
from escrowmq.errors import EscrowError
from escrowmq.model import names
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol.bodies.heartbeat import Heartbeat, decode_heartbeat
from escrowmq.protocol.request_codes import RequestCode

# The fields in which requests name a group that is made for them.
_GROUP_FIELDS: Final[Mapping[int, str]] = {
    RequestCode.PULL_MESSAGE: "consumerGroup",
    RequestCode.LITE_PULL_MESSAGE: "consumerGroup",
    RequestCode.CONSUMER_SEND_MSG_BACK: "group",
    RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: "group",
}

# The fields in which sends name their topic.
_TOPIC_FIELDS: Final[Mapping[int, str]] = {
    RequestCode.SEND_MESSAGE: "topic",
    RequestCode.SEND_MESSAGE_V2: "b",
    RequestCode.SEND_BATCH_MESSAGE: "b",
}

_NAMING: Final = frozenset({RequestCode.HEART_BEAT, *_GROUP_FIELDS, *_TOPIC_FIELDS})

_log = structlog.get_logger()


def make_named(context: Context, requests: Sequence[ClientRequest]) -> None:
    """Makes what requests name, with one change of each table."""
    requests = [request for request in requests if request.code in _NAMING]
    if not requests:
        return
    beats, sent_to = list(_heartbeats(requests)), _sent_to(requests)
    try:
        context.groups.create(
            [*(data.group for beat in beats for data in beat.consumers), *_named_groups(requests, sent_to)]
        )
        retry_topics = (topic for beat in beats for topic in clients.planned_retry_topics(context, beat))
        context.topics.create([*retry_topics, *_topics_of_sends(context, requests, sent_to)])
    except (EscrowError, OSError) as error:
        _log.warning("groups and topics of a batch not made", reason=str(error))


def _heartbeats(requests: Sequence[ClientRequest]) -> Iterator[Heartbeat]:
    for request in requests:
        if request.code == RequestCode.HEART_BEAT:
            with suppress(EscrowError):
                yield decode_heartbeat(request.body)


def _named_groups(requests: Sequence[ClientRequest], sent_to: Sequence[str]) -> Iterator[str]:
    for request, topic in zip(requests, sent_to, strict=True):
        if request.code in _GROUP_FIELDS:
            yield request.ext_fields.get(_GROUP_FIELDS[request.code], "")
        elif topic.startswith(names.RETRY_PREFIX):
            yield topic.removeprefix(names.RETRY_PREFIX)


def _topics_of_sends(
    context: Context, requests: Sequence[ClientRequest], sent_to: Sequence[str]
) -> Iterator[TopicConfig]:
    for request, name in zip(requests, sent_to, strict=True):
        if name and context.topics.find(name) is None:
            with suppress(EscrowError, Refused):
                plan = sends.planned_topic(context, request)
                if plan is not None:
                    yield plan


def _sent_to(requests: Sequence[ClientRequest]) -> list[str]:
    """The topics of sends; nothing for other requests."""
    topics = _core.topics_of_sends(requests)
    return [
        _topic_of_send(request) if topic is None else topic for request, topic in zip(requests, topics, strict=True)
    ]


def _topic_of_send(request: ClientRequest) -> str:
    field = _TOPIC_FIELDS.get(request.code)
    return "" if field is None else request.ext_fields.get(field, "")
