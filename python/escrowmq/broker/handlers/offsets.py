"""Requests about offsets that the fast lane leaves to us: by time, and of groups or topics that it does not know."""

from typing import Literal

from escrowmq.broker import queue_facts
from escrowmq.broker.context import Context
from escrowmq.broker.outcome import RETRY, Outcome
from escrowmq.broker.ports import ClientRequest
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.get_earliest_store_time import GetEarliestStoreTime
from escrowmq.protocol.headers.search_offset import SearchOffset
from escrowmq.protocol.headers.update_consumer_offset import UpdateConsumerOffset
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode


def search(context: Context, request: ClientRequest) -> Answer:
    """SEARCH_OFFSET_BY_TIMESTAMP: the queue offset of a time."""
    header = decode_header(SearchOffset, request.ext_fields)
    boundary: Literal["lower", "upper"] = "upper" if header.boundary.upper() == "UPPER" else "lower"
    offset = context.store.offset_by_time(header.topic, header.queue_id, header.timestamp_ms, boundary=boundary)
    return Answer(ext_fields={"offset": str(offset if offset is not None else 0)})


def earliest_store_time(context: Context, request: ClientRequest) -> Answer:
    """GET_EARLIEST_MSG_STORETIME: when the first message of a queue that is still there was stored; -1 for none."""
    header = decode_header(GetEarliestStoreTime, request.ext_fields)
    first_ms = queue_facts.first_stored_at_ms(context.store, header.topic, header.queue_id)
    return Answer(ext_fields={"timestamp": str(first_ms)})


def update(context: Context, request: ClientRequest) -> Outcome:
    """UPDATE_CONSUMER_OFFSET of a group or a topic that the fast lane did not know."""
    header = decode_header(UpdateConsumerOffset, request.ext_fields)
    if context.groups.find(header.group) is None:
        return Answer(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {header.group} not exist!")
    if context.topics.find(header.topic) is None:
        return Answer(ResponseCode.TOPIC_NOT_EXIST, f"Topic {header.topic} not exist!")
    return RETRY
