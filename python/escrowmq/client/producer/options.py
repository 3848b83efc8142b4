"""How a producer sends."""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from escrowmq.model.names import DEFAULT_TOPIC

_Seconds = Annotated[float, Meta(gt=0)]
_Count = Annotated[int, Meta(ge=0)]


class ProducerOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Times, limits and habits; the defaults are those of RocketMQ's producers."""

    send_timeout_s: _Seconds = 3.0
    """How long a send may take, all tries together."""
    try_timeout_s: _Seconds | None = None
    """How long one try may take, where a broker that hangs must leave time for another; else all that is left."""
    retries_max: _Count = 2
    """How often a send is tried again on another broker. One to a queue that the caller chose is never."""
    retries_weak_results: bool = False
    """Whether a message is sent again that is stored, but not as safely as the broker wishes."""
    avoids_slow_brokers: bool = False
    """Whether brokers that were slow, or did not answer, get no messages for a while."""
    compress_from_bytes: _Count | None = 4_096
    """Bodies of this size and above are compressed; None for never. Those of batches are not."""
    compression: Literal["zlib", "lz4", "zstd"] = "zlib"
    """How. Consumers of all versions know zlib; from 5.0.0 on they know the others."""
    compression_level: Annotated[int, Meta(ge=0, le=9)] = 5
    """How hard zlib and zstd try."""
    message_size_max_bytes: Annotated[int, Meta(ge=1)] = 4 * 1024 * 1024
    """Largest body, before it is compressed; of a batch all together."""
    template_topic: str = DEFAULT_TOPIC
    """The topic whose brokers make new topics."""
    new_topic_queues: Annotated[int, Meta(ge=1)] = 4
    """How many queues a topic gets that is made for its first message."""


DEFAULTS: Final = ProducerOptions()
