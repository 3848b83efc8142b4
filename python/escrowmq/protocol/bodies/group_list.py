"""The body that answers QUERY_TOPIC_CONSUME_BY_WHO."""

from collections.abc import Sequence

from escrowmq.protocol import fastjson


def encode_group_list(groups: Sequence[str]) -> bytes:
    """Names of groups."""
    return fastjson.encode_strict({"groupList": groups})
