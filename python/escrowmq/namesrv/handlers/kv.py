"""Requests about the values that operators keep at the name server."""

from escrowmq.namesrv.context import Context
from escrowmq.protocol.bodies.kv_table import encode_kv_table
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.delete_kv_config import DeleteKvConfig
from escrowmq.protocol.headers.get_kv_config import GetKvConfig
from escrowmq.protocol.headers.get_kv_list import GetKvList
from escrowmq.protocol.headers.put_kv_config import PutKvConfig
from escrowmq.protocol.messages import Answer, Request
from escrowmq.protocol.response_codes import ResponseCode


def put(context: Context, request: Request) -> Answer:
    """PUT_KV_CONFIG: sets a value; kept on disk before the answer."""
    header = decode_header(PutKvConfig, request.ext_fields)
    context.kv_config.put(header.namespace, header.key, header.value)
    return Answer()


def get(context: Context, request: Request) -> Answer:
    """GET_KV_CONFIG: one value."""
    header = decode_header(GetKvConfig, request.ext_fields)
    value = context.kv_config.get(header.namespace, header.key)
    if value is None:
        remark = f"No config item, Namespace: {header.namespace} Key: {header.key}"
        return Answer(ResponseCode.QUERY_NOT_FOUND, remark)
    return Answer(ext_fields={"value": value})


def delete(context: Context, request: Request) -> Answer:
    """DELETE_KV_CONFIG: removes a value."""
    header = decode_header(DeleteKvConfig, request.ext_fields)
    context.kv_config.delete(header.namespace, header.key)
    return Answer()


def list_namespace(context: Context, request: Request) -> Answer:
    """GET_KVLIST_BY_NAMESPACE: all values of a namespace."""
    header = decode_header(GetKvList, request.ext_fields)
    values = context.kv_config.namespace(header.namespace)
    if values is None:
        return Answer(ResponseCode.QUERY_NOT_FOUND, f"No config item, Namespace: {header.namespace}")
    return Answer(body=encode_kv_table(values))
