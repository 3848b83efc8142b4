"""The table of requests that the name server answers, and what becomes of the others."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import structlog

from escrowmq.errors import EscrowError
from escrowmq.namesrv.context import Context
from escrowmq.namesrv.handlers import brokers, kv, settings, topics
from escrowmq.protocol.messages import Answer, Request
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

Handler: TypeAlias = Callable[[Context, Request], Answer]

HANDLERS: Final[Mapping[int, Handler]] = {
    RequestCode.PUT_KV_CONFIG: kv.put,
    RequestCode.GET_KV_CONFIG: kv.get,
    RequestCode.DELETE_KV_CONFIG: kv.delete,
    RequestCode.GET_KVLIST_BY_NAMESPACE: kv.list_namespace,
    RequestCode.REGISTER_BROKER: brokers.register,
    RequestCode.UNREGISTER_BROKER: brokers.unregister,
    RequestCode.QUERY_DATA_VERSION: brokers.query_data_version,
    RequestCode.BROKER_HEARTBEAT: brokers.heartbeat,
    RequestCode.GET_BROKER_MEMBER_GROUP: brokers.member_group,
    RequestCode.GET_BROKER_CLUSTER_INFO: brokers.cluster_info,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER: brokers.wipe_write_permission,
    RequestCode.ADD_WRITE_PERM_OF_BROKER: brokers.add_write_permission,
    RequestCode.GET_ROUTEINFO_BY_TOPIC: topics.route,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: topics.all_topics,
    RequestCode.GET_TOPICS_BY_CLUSTER: topics.topics_by_cluster,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: topics.system_topics,
    RequestCode.GET_UNIT_TOPIC_LIST: topics.unit_topics,
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: topics.unit_subscription_topics,
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: topics.unit_subscription_only_topics,
    RequestCode.DELETE_TOPIC_IN_NAMESRV: topics.delete,
    RequestCode.REGISTER_TOPIC_IN_NAMESRV: topics.register,
    RequestCode.UPDATE_NAMESRV_CONFIG: settings.change,
    RequestCode.GET_NAMESRV_CONFIG: settings.show,
}

_log = structlog.get_logger()


def process(context: Context, request: Request) -> Answer:
    """Answers a request; whatever goes wrong costs this request only."""
    handler = HANDLERS.get(request.code)
    if handler is None:
        return Answer(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f" request type {request.code} not supported")
    try:
        return handler(context, request)
    except EscrowError as error:
        _log.warning("request refused", code=request.code, peer=request.peer, reason=str(error))
        return Answer(ResponseCode.SYSTEM_ERROR, str(error))
    except Exception as error:  # noqa: BLE001 - a fault in one handler must not take the others' brokers away
        _log.exception("request failed", code=request.code, peer=request.peer)
        return Answer(ResponseCode.SYSTEM_ERROR, f"{type(error).__name__}: {error}")
