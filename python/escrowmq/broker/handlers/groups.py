"""Requests of operators about subscription groups."""

from escrowmq.broker.context import Context
from escrowmq.broker.ports import ClientRequest
from escrowmq.model import names
from escrowmq.model.subscription import SubscriptionGroup
from escrowmq.protocol.bodies.group_configs import decode_group, decode_group_list, encode_group, encode_group_table
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.delete_group import DeleteGroup
from escrowmq.protocol.headers.get_group_config import GetGroupConfig
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode


def update(context: Context, request: ClientRequest) -> Answer:
    """UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: makes a group, or alters it."""
    return _update(context, [decode_group(request.body)])


def update_list(context: Context, request: ClientRequest) -> Answer:
    """UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: makes or alters groups, all or none."""
    return _update(context, decode_group_list(request.body))


def delete(context: Context, request: ClientRequest) -> Answer:
    """DELETE_SUBSCRIPTIONGROUP: deletes a group and, if asked, what it has read: that only when the group is gone."""
    header = decode_header(DeleteGroup, request.ext_fields)
    with context.snapshots.without_group(context.fast_lane, header.group):
        context.groups.delete(header.group)
        if header.cleans_offsets:
            context.offsets.remove_consumer_offsets(group=header.group)
            context.save_offsets()
    return Answer()


def show(context: Context, request: ClientRequest) -> Answer:
    """GET_SUBSCRIPTIONGROUP_CONFIG: one group, made if it is not there and may be, as RocketMQ does."""
    header = decode_header(GetGroupConfig, request.ext_fields)
    group = context.groups.find_or_create(header.group)
    if group is None:
        return Answer(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "No group in this broker")
    return Answer(body=encode_group(group))


def show_all(context: Context, _: ClientRequest) -> Answer:
    """GET_ALL_SUBSCRIPTIONGROUP_CONFIG: all groups. Who asks for a part of them gets all at once, and asks no more."""
    groups = context.groups
    return Answer(
        ext_fields={"totalGroupNum": str(len(groups.table))},
        body=encode_group_table(groups.table, groups.forbidden, groups.data_version),
    )


def _update(context: Context, groups: list[SubscriptionGroup]) -> Answer:
    for group in groups:
        remark = names.refuse_group(group.name)
        if remark is not None:
            return Answer(ResponseCode.INVALID_PARAMETER, remark)
    context.groups.update(groups)
    return Answer()
