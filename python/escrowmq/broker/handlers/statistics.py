"""Requests of operators about how much came and went, and how the broker is."""

from escrowmq.broker.context import Context
from escrowmq.broker.ports import ClientRequest
from escrowmq.protocol.bodies.broker_stats import BrokerStats, Stat
from escrowmq.protocol.bodies.kv_table import encode_kv_table
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.view_broker_stats import ViewBrokerStats
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode


def runtime_info(context: Context, _: ClientRequest) -> Answer:
    """GET_BROKER_RUNTIME_INFO: how the broker is."""
    return Answer(body=encode_kv_table(context.statistics.runtime_info()))


def view(context: Context, request: ClientRequest) -> Answer:
    """VIEW_BROKER_STATS_DATA: how much there was of something in the last minute, hour and day."""
    header = decode_header(ViewBrokerStats, request.ext_fields)
    found = context.statistics.find(header.name, header.key)
    if found is None:
        return Answer(ResponseCode.SYSTEM_ERROR, f"The stats <{header.name}> <{header.key}> not exist")
    day, hour, minute = (Stat(amount.total, amount.per_s) for amount in (found.day, found.hour, found.minute))
    return Answer(body=BrokerStats(day, hour, minute).encode())
