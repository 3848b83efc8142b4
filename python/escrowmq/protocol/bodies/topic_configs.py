"""Bodies about topics: of the request that makes or alters several, and the answers that show them."""

from collections.abc import Mapping

from msgspec import Struct, field

from escrowmq.model.data_version import DataVersion
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol import fastjson


class TopicList(Struct, frozen=True):
    """Topics to make or alter."""

    topics: list[TopicConfig] = field(name="topicConfigList")


def decode_topic_list(body: bytes | memoryview) -> list[TopicConfig]:
    """Reads the topics of UPDATE_AND_CREATE_TOPIC_LIST.

    Raises:
        BadBody: It is none.
    """
    return fastjson.decode(body, TopicList).topics


def encode_topic_table(topics: Mapping[str, TopicConfig], version: DataVersion) -> bytes:
    """The answer to GET_ALL_TOPIC_CONFIG. This broker has no static topics, so nothing is mapped."""
    return fastjson.encode_strict(
        {
            "dataVersion": version,
            "mappingDataVersion": DataVersion(),
            "topicConfigTable": topics,
            "topicQueueMappingDetailMap": {},
            "topicQueueMappingInfoMap": {},
        }
    )


def encode_topic(topic: TopicConfig) -> bytes:
    """The answer to GET_TOPIC_CONFIG."""
    return fastjson.encode_strict(topic)


def decode_topic(body: bytes | memoryview) -> TopicConfig:
    """Reads the answer to GET_TOPIC_CONFIG.

    Raises:
        BadBody: It is none.
    """
    return fastjson.decode(body, TopicConfig)
