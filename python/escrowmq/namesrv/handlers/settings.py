"""Requests about the name server's own settings, by RocketMQ's names for them. A change holds until the next start."""

from typing import Final

from escrowmq.config import APACHE_NAMES, convert_setting, decode_properties, encode_properties, with_settings
from escrowmq.errors import ConfigError
from escrowmq.namesrv.context import Context
from escrowmq.protocol.messages import Answer, Request
from escrowmq.protocol.response_codes import ResponseCode

_BLACK_LIST: Final = {"configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"}
_FIXED: Final = {"bindAddress", "listenPort", "scanNotActiveBrokerInterval", "serverChannelMaxIdleTimeSeconds"}


def show(context: Context, _: Request) -> Answer:
    """GET_NAMESRV_CONFIG: all settings as lines of `key=value`."""
    settings = {apache: getattr(context.config, ours) for apache, ours in APACHE_NAMES.items()}
    return Answer(body=encode_properties(settings))


def change(context: Context, request: Request) -> Answer:
    """UPDATE_NAMESRV_CONFIG: changes settings, all or none. Compat: names that nobody knows are passed over."""
    try:
        wanted = decode_properties(bytes(request.body))
        if not _BLACK_LIST.isdisjoint(wanted):
            return Answer(ResponseCode.NO_PERMISSION, "Can not update config in black list.")
        if fixed := sorted(_FIXED.intersection(wanted)):
            return Answer(ResponseCode.NO_PERMISSION, f"{fixed[0]} can't be changed while the name server runs")
        changes = {
            APACHE_NAMES[name]: convert_setting(name, value) for name, value in wanted.items() if name in APACHE_NAMES
        }
    except ConfigError as error:
        return Answer(ResponseCode.INVALID_PARAMETER, str(error))
    context.config = with_settings(context.config, changes)
    return Answer()
