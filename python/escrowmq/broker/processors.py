"""The table of requests that the broker answers in Python, and what becomes of the others.

A handler takes a batch. Requests of one handler that stand together go to it together, so that the requests of a
connection are handled in the order in which they came.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, TypeVar

import structlog

from escrowmq.broker.batches import BatchHandler, appending, each, failed
from escrowmq.broker.context import Context
from escrowmq.broker.handlers import (
    cleaning,
    clients,
    consumers,
    consumption,
    delays,
    groups,
    locks,
    offset_resets,
    offsets,
    pulls,
    queries,
    replies,
    send_back,
    sends,
    settings,
    statistics,
    timers,
    topics,
    transaction_admin,
    transaction_stream,
    transactions,
)
from escrowmq.broker.making import make_named
from escrowmq.broker.outcome import Outcome
from escrowmq.broker.ports import ClientRequest
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

AnyRequest = TypeVar("AnyRequest", bound=ClientRequest)

_log = structlog.get_logger()

HANDLERS: Final[Mapping[int, BatchHandler]] = {
    RequestCode.SEND_MESSAGE: transaction_stream.handle,
    RequestCode.SEND_MESSAGE_V2: transaction_stream.handle,
    RequestCode.SEND_BATCH_MESSAGE: appending(sends.send),
    RequestCode.SEND_REPLY_MESSAGE: each(replies.reply),
    RequestCode.SEND_REPLY_MESSAGE_V2: each(replies.reply),
    RequestCode.CONSUMER_SEND_MSG_BACK: appending(send_back.send_back),
    RequestCode.GET_ALL_DELAY_OFFSET: each(delays.offsets),
    RequestCode.GET_TIMER_CHECK_POINT: each(timers.checkpoint),
    RequestCode.GET_TIMER_METRICS: each(timers.metrics),
    RequestCode.RECALL_MESSAGE: appending(timers.recall),
    RequestCode.END_TRANSACTION: transaction_stream.handle,
    RequestCode.RESUME_CHECK_HALF_MESSAGE: each(transactions.resume_check),
    RequestCode.ESCROWMQ_LIST_TRANSACTIONS: each(transaction_admin.list_some),
    RequestCode.ESCROWMQ_DECIDE_TRANSACTION: each(transaction_admin.decide),
    RequestCode.PULL_MESSAGE: each(pulls.pull),
    RequestCode.LITE_PULL_MESSAGE: each(pulls.pull),
    RequestCode.UPDATE_CONSUMER_OFFSET: each(offsets.update),
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: each(offsets.search),
    RequestCode.GET_EARLIEST_MSG_STORETIME: each(offsets.earliest_store_time),
    RequestCode.QUERY_MESSAGE: each(queries.query),
    RequestCode.VIEW_MESSAGE_BY_ID: each(queries.view),
    RequestCode.HEART_BEAT: each(clients.heartbeat),
    RequestCode.UNREGISTER_CLIENT: each(clients.unregister),
    RequestCode.CHECK_CLIENT_CONFIG: each(clients.check),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: each(clients.consumer_list),
    RequestCode.GET_CONSUMER_CONNECTION_LIST: each(clients.consumer_connections),
    RequestCode.GET_PRODUCER_CONNECTION_LIST: each(clients.producer_connections),
    RequestCode.LOCK_BATCH_MQ: each(locks.lock),
    RequestCode.UNLOCK_BATCH_MQ: each(locks.unlock),
    RequestCode.UPDATE_AND_CREATE_TOPIC: each(topics.update),
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST: each(topics.update_list),
    RequestCode.DELETE_TOPIC_IN_BROKER: each(topics.delete),
    RequestCode.GET_ALL_TOPIC_CONFIG: each(topics.show_all),
    RequestCode.GET_TOPIC_CONFIG: each(topics.show),
    RequestCode.GET_TOPIC_STATS_INFO: each(topics.stats),
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: each(groups.update),
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: each(groups.update_list),
    RequestCode.DELETE_SUBSCRIPTIONGROUP: each(groups.delete),
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: each(groups.show_all),
    RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: each(groups.show),
    RequestCode.GET_CONSUME_STATS: each(consumption.stats),
    RequestCode.GET_BROKER_CONSUME_STATS: each(consumption.all_stats),
    RequestCode.GET_ALL_CONSUMER_OFFSET: each(consumption.all_offsets),
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: each(consumption.groups_of_topic),
    RequestCode.QUERY_TOPICS_BY_CONSUMER: each(consumption.topics_of_group),
    RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER: each(consumption.subscription),
    RequestCode.QUERY_CONSUME_TIME_SPAN: each(consumption.time_spans),
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: each(offset_resets.reset),
    RequestCode.CLONE_GROUP_OFFSET: each(offset_resets.clone),
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: each(consumers.status),
    RequestCode.GET_CONSUMER_RUNNING_INFO: each(consumers.running_info),
    RequestCode.CONSUME_MESSAGE_DIRECTLY: each(consumers.consume_directly),
    RequestCode.GET_BROKER_RUNTIME_INFO: each(statistics.runtime_info),
    RequestCode.VIEW_BROKER_STATS_DATA: each(statistics.view),
    RequestCode.DELETE_EXPIRED_COMMITLOG: each(cleaning.delete_expired_log),
    RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: each(cleaning.clean_expired_queues),
    RequestCode.CLEAN_UNUSED_TOPIC: each(cleaning.clean_unused_topics),
    RequestCode.GET_BROKER_CONFIG: each(settings.show),
    RequestCode.UPDATE_BROKER_CONFIG: each(settings.change),
}


def process(context: Context, requests: Sequence[AnyRequest]) -> Iterator[tuple[AnyRequest, Outcome]]:
    """What becomes of each request, in their order."""
    make_named(context, requests)
    for handler, run in groupby(requests, key=_handler_of):
        together = list(run)
        yield from zip(together, _process_run(context, handler, together), strict=True)


def _handler_of(request: ClientRequest) -> BatchHandler | int:
    """The handler of a request, or its code where it has none."""
    return HANDLERS.get(request.code) or request.code


def _process_run(context: Context, handler: BatchHandler | int, requests: Sequence[ClientRequest]) -> Sequence[Outcome]:
    if isinstance(handler, int):
        code = handler
        _log.debug("request not supported", code=code, peer=requests[0].peer)
        unsupported = Answer(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f" request type {code} not supported")
        return [unsupported] * len(requests)
    try:
        return handler(context, requests)
    except Exception as error:  # noqa: BLE001 - a fault in one handler must not take the broker down
        return [failed(requests[0], error)] * len(requests)
