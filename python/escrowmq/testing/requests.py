"""The requests that the fixture makes for a test."""

import time
from collections.abc import Mapping, Sequence

from escrowmq import _core
from escrowmq.protocol.request_codes import RequestCode

PRODUCER_GROUP = "escrowmq-testing"


def create_topic(name: str, *, queues: int) -> _core.Frame:
    """UPDATE_AND_CREATE_TOPIC."""
    fields = {
        "topic": name,
        "defaultTopic": "TBW102",
        "readQueueNums": str(queues),
        "writeQueueNums": str(queues),
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
    }
    return _core.Frame(RequestCode.UPDATE_AND_CREATE_TOPIC, ext_fields=fields)


def send(
    topic: str, body: bytes, *, tags: str | None, keys: Sequence[str], properties: Mapping[str, str]
) -> _core.Frame:
    """SEND_MESSAGE_V2, to a queue that the broker chooses."""
    named = {"TAGS": tags, "KEYS": " ".join(keys) or None, **properties}
    text = "".join(f"{name}\x01{value}\x02" for name, value in named.items() if value is not None)
    fields = {
        "a": PRODUCER_GROUP,
        "b": topic,
        "c": "TBW102",
        "d": "4",
        "e": "-1",
        "f": "0",
        "g": str(time.time_ns() // 1_000_000),
        "h": "0",
        "i": text,
        "j": "0",
        "k": "false",
        "m": "false",
    }
    return _core.Frame(RequestCode.SEND_MESSAGE_V2, ext_fields=fields, body=body)
