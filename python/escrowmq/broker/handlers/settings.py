"""Requests of operators about settings."""

from escrowmq.broker.context import Context
from escrowmq.broker.ports import ClientRequest
from escrowmq.broker.settings import FixedSetting
from escrowmq.config import decode_properties, encode_properties
from escrowmq.errors import ConfigError
from escrowmq.protocol import fastjson
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode


def show(context: Context, _: ClientRequest) -> Answer:
    """GET_BROKER_CONFIG: the settings that RocketMQ has a name for, as lines of properties."""
    return Answer(
        ext_fields={"version": fastjson.encode_strict(context.settings.data_version).decode()},
        body=encode_properties(context.settings.shown()),
    )


def change(context: Context, request: ClientRequest) -> Answer:
    """UPDATE_BROKER_CONFIG: changes settings, all or none; those that can't be changed are named."""
    try:
        context.settings.change(decode_properties(bytes(request.body)))
    except FixedSetting as error:
        return Answer(ResponseCode.NO_PERMISSION, f"these settings can not be changed while the broker runs: {error}")
    except ConfigError as error:
        return Answer(ResponseCode.INVALID_PARAMETER, str(error))
    return Answer()
