"""The body that answers GET_CONSUMER_LIST_BY_GROUP: the members among whom clients divide the queues."""

from collections.abc import Sequence

from escrowmq.protocol import fastjson


def encode_consumer_list(client_ids: Sequence[str]) -> bytes:
    """The ids of a group's members."""
    return fastjson.encode_strict({"consumerIdList": client_ids})
