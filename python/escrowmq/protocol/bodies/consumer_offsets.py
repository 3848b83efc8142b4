"""The body that answers GET_ALL_CONSUMER_OFFSET: consumerOffset.json as RocketMQ writes it."""

from collections.abc import Mapping

from escrowmq.model.data_version import DataVersion
from escrowmq.protocol import fastjson


def encode_consumer_offsets(
    version: DataVersion,
    topics: Mapping[str, list[str]],
    offsets: Mapping[str, Mapping[int, int]],
    pulled: Mapping[str, Mapping[int, int]],
) -> bytes:
    """The topics of each group, what groups read next by `topic@group` and queue, and how far they have pulled."""
    return fastjson.encode(
        {"dataVersion": version, "groupTopicMap": topics, "offsetTable": offsets, "pullOffsetTable": pulled}
    )
