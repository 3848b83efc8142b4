"""GET_ALL_DELAY_OFFSET's answer, which is also what delayOffset.json holds."""

from msgspec import Struct, field

from escrowmq.model.data_version import DataVersion
from escrowmq.protocol import fastjson


class DelayOffsets(Struct, frozen=True):
    """By level, the queue offset of the first message that is not delivered."""

    data_version: DataVersion = field(default_factory=DataVersion, name="dataVersion")
    offsets: dict[int, int] = field(default_factory=dict, name="offsetTable")


def encode_delay_offsets(offsets: DelayOffsets) -> bytes:
    """The body, as RocketMQ writes it."""
    return fastjson.encode(offsets)
