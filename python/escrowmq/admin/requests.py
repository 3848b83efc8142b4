"""Questions that several ask: to make a topic, to send a message, to read a queue."""

import time
from collections.abc import Mapping
from typing import Final

from escrowmq.model import names
from escrowmq.model.subscription import ALL_TAGS, TAG
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol import properties as property_string
from escrowmq.protocol.headers.create_topic import CreateTopic
from escrowmq.protocol.headers.pull_message import MAY_WAIT, SUBSCRIPTION_IN_REQUEST, PullMessage
from escrowmq.protocol.headers.send_message import SendMessageV2
from escrowmq.protocol.question import Question
from escrowmq.protocol.request_codes import RequestCode

ANY_QUEUE: Final = -1
"""The queue of a message for which the broker is to choose one."""

PULL_COUNT_MAX: Final = 32
_NEW_TOPIC_QUEUES: Final = 4


def create_topic(topic: TopicConfig) -> Question:
    """UPDATE_AND_CREATE_TOPIC: makes a topic, or alters it. Attributes are added, or altered."""
    header = CreateTopic(
        topic=topic.name,
        default_topic=names.DEFAULT_TOPIC,
        read_queues=topic.read_queues,
        write_queues=topic.write_queues,
        permissions=topic.permissions,
        filter_type=topic.filter_type,
        system_flag=topic.system_flag,
        is_ordered=topic.is_ordered,
        attributes=",".join(f"+{name}={value}" for name, value in topic.attributes.items()),
    )
    return Question(RequestCode.UPDATE_AND_CREATE_TOPIC, header)


def send(
    topic: str,
    body: bytes,
    *,
    group: str,
    queue_id: int = ANY_QUEUE,
    properties: Mapping[str, str],
    new_topic_queues: int = _NEW_TOPIC_QUEUES,
) -> Question:
    """SEND_MESSAGE_V2. A topic that the broker has to make for it gets so many queues."""
    header = SendMessageV2(
        topic=topic,
        default_topic=names.DEFAULT_TOPIC,
        default_topic_queues=new_topic_queues,
        queue_id=queue_id,
        system_flag=0,
        born_timestamp_ms=time.time_ns() // 1_000_000,
        flag=0,
        properties=property_string.encode(properties).decode(),
        producer_group=group,
    )
    return Question(RequestCode.SEND_MESSAGE_V2, header, body)


def pull(
    topic: str,
    queue_id: int,
    offset: int,
    *,
    group: str,
    expression: str = ALL_TAGS,
    expression_type: str = TAG,
    count_max: int = PULL_COUNT_MAX,
    wait_max_ms: int = 0,
) -> Question:
    """PULL_MESSAGE: what a queue has from an offset on. It may wait for a message, and commits nothing."""
    header = PullMessage(
        group=group,
        topic=topic,
        queue_id=queue_id,
        system_flag=SUBSCRIPTION_IN_REQUEST | (MAY_WAIT if wait_max_ms else 0),
        expression_type=expression_type,
        expression=expression,
        offset=offset,
        count_max=count_max,
        wait_max_ms=wait_max_ms,
    )
    return Question(RequestCode.PULL_MESSAGE, header)
