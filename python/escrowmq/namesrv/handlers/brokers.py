"""Requests of brokers about themselves, and of operators about brokers."""

from typing import Final

import structlog

from escrowmq.model.data_version import DataVersion
from escrowmq.namesrv.context import Context
from escrowmq.namesrv.kv_config import ORDER_TOPICS
from escrowmq.namesrv.limits import check_registration
from escrowmq.namesrv.registration import Registration
from escrowmq.protocol import fastjson
from escrowmq.protocol.bodies.broker_member_group import BrokerMemberGroup
from escrowmq.protocol.bodies.cluster_info import ClusterInfo
from escrowmq.protocol.bodies.kv_table import encode_kv_table
from escrowmq.protocol.bodies.register_broker import RegisterBrokerBody, body_crc, decode_register_broker
from escrowmq.protocol.headers.add_write_permission import AddWritePermission
from escrowmq.protocol.headers.broker_heartbeat import BrokerHeartbeat
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.get_broker_member_group import GetBrokerMemberGroup
from escrowmq.protocol.headers.query_data_version import QueryDataVersion
from escrowmq.protocol.headers.register_broker import RegisterBroker
from escrowmq.protocol.headers.unregister_broker import UnregisterBroker
from escrowmq.protocol.headers.wipe_write_permission import WipeWritePermission
from escrowmq.protocol.messages import Answer, Request
from escrowmq.protocol.response_codes import ResponseCode

_log = structlog.get_logger()

# Compat: RocketMQ's handler forgets to clear the remark that answers begin with.
_FORGOTTEN_REMARK: Final = "not set any response code"


def register(context: Context, request: Request) -> Answer:
    """REGISTER_BROKER: takes in a broker with its topics, and tells a slave its master."""
    header = decode_header(RegisterBroker, request.ext_fields)
    if header.body_crc not in {0, body_crc(request.body)}:
        return Answer(ResponseCode.SYSTEM_ERROR, "crc32 not match")
    body = decode_register_broker(request.body, is_compressed=header.is_compressed, version=request.version)
    registration = _registration(header, body, request.connection)
    check_registration(context.routes, registration)
    is_new = registration.address not in context.routes.live
    registered = context.routes.register(
        registration,
        now_ms=context.now_ms(),
        deletes_missing_topics=context.config.deletes_missing_topics,
    )
    if registered is None:
        return Answer(ResponseCode.SYSTEM_ERROR, "register broker failed")
    if is_new:
        _log.info("broker registered", **_facts(header), broker_id=header.broker_id, topics=len(registration.topics))
    told = {"haServerAddr": registered.ha_address, "masterAddr": registered.master_address}
    order_topics = context.kv_config.namespace(ORDER_TOPICS) if context.config.tells_brokers_order_topics else None
    return Answer(
        ext_fields={name: value for name, value in told.items() if value is not None},
        body=encode_kv_table(order_topics) if order_topics is not None else b"",
    )


def unregister(context: Context, request: Request) -> Answer:
    """UNREGISTER_BROKER: a broker stops."""
    header = decode_header(UnregisterBroker, request.ext_fields)
    if context.routes.unregister(cluster=header.cluster, broker_name=header.broker_name, address=header.broker_address):
        _log.info("broker unregistered", **_facts(header))
    return Answer()


def query_data_version(context: Context, request: Request) -> Answer:
    """QUERY_DATA_VERSION: whether a broker has to say its topics again; counts as a sign of life."""
    header = decode_header(QueryDataVersion, request.ext_fields)
    asked = fastjson.decode(request.body, DataVersion) if request.body else None
    is_changed = context.routes.is_changed(header.cluster, header.broker_address, asked)
    context.routes.touch(header.cluster, header.broker_address, now_ms=context.now_ms())
    known = context.routes.data_version(header.cluster, header.broker_address)
    return Answer(
        ext_fields={"changed": "true" if is_changed else "false"},
        body=fastjson.encode_strict(known) if known is not None else b"",
    )


def heartbeat(context: Context, request: Request) -> Answer:
    """BROKER_HEARTBEAT: a broker is alive."""
    header = decode_header(BrokerHeartbeat, request.ext_fields)
    context.routes.touch(header.cluster, header.broker_address, now_ms=context.now_ms())
    return Answer()


def member_group(context: Context, request: Request) -> Answer:
    """GET_BROKER_MEMBER_GROUP: the brokers of one name."""
    header = decode_header(GetBrokerMemberGroup, request.ext_fields)
    broker = context.routes.brokers.get(header.broker_name)
    group = BrokerMemberGroup(broker.addresses if broker is not None else {}, header.broker_name, header.cluster)
    return Answer(remark=_FORGOTTEN_REMARK, body=group.encode())


def cluster_info(context: Context, _: Request) -> Answer:
    """GET_BROKER_CLUSTER_INFO: all brokers."""
    clusters = {cluster: sorted(names) for cluster, names in sorted(context.routes.clusters.items())}
    return Answer(body=ClusterInfo(context.routes.brokers, clusters).encode())


def wipe_write_permission(context: Context, request: Request) -> Answer:
    """WIPE_WRITE_PERM_OF_BROKER: clients stop writing to a broker, so that it can be emptied and stopped."""
    header = decode_header(WipeWritePermission, request.ext_fields)
    count = context.routes.wipe_write_permission(header.broker_name)
    return Answer(ext_fields={"wipeTopicCount": str(count)})


def add_write_permission(context: Context, request: Request) -> Answer:
    """ADD_WRITE_PERM_OF_BROKER: clients may write to it again."""
    header = decode_header(AddWritePermission, request.ext_fields)
    count = context.routes.add_write_permission(header.broker_name)
    return Answer(ext_fields={"addTopicCount": str(count)})


def _facts(header: RegisterBroker | UnregisterBroker) -> dict[str, str]:
    return {"cluster": header.cluster, "broker": header.broker_name, "address": header.broker_address}


def _registration(header: RegisterBroker, body: RegisterBrokerBody, connection: int) -> Registration:
    return Registration(
        cluster=header.cluster,
        broker_name=header.broker_name,
        broker_id=header.broker_id,
        address=header.broker_address,
        ha_address=header.ha_address,
        connection=connection,
        topics=body.table.topics,
        data_version=body.table.data_version,
        zone=header.zone,
        timeout_ms=header.heartbeat_timeout_ms,
        may_act_as_master=header.may_act_as_master,
        filter_servers=body.filter_servers,
        queue_mappings=body.table.queue_mappings,
    )
