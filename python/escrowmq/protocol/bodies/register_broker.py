"""The body of REGISTER_BROKER: all topics of a broker, or the one that changed.

As JSON, or compressed with zlib:

    ┌────────────────┬────────────────┬ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─┬─────────────────┬ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ┐
    │ version: piece │ topic count  4 │ topic: piece, each   │ filters: piece  │ from 5.0 on: mapping count 4, then
    │ (JSON)         │                │                      │ (JSON list)     │ each mapping: piece (JSON)
    └────────────────┴────────────────┴ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─┴─────────────────┴ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ┘
    piece: length 4, then that many bytes;   topic: name read write perm filterType attributesJSON, joined by spaces
"""

import zlib
from typing import Final

from msgspec import Struct, field

from escrowmq.errors import BadBody
from escrowmq.model.data_version import DataVersion
from escrowmq.model.route import QueueMapping
from escrowmq.model.topic import TopicConfig
from escrowmq.protocol import fastjson
from escrowmq.protocol.versions import MAPPINGS_IN_COMPRESSED_BODY

INFLATED_SIZE_MAX_BYTES: Final = 64 * 1024 * 1024
"""Three hundred thousand topics; what inflates to more is refused before it is held."""

_TOPIC_WORDS_MIN: Final = 5
_ZLIB_FIRST_BYTE: Final = 0x78
_CRC_MASK: Final = 0x7FFF_FFFF


class TopicTable(Struct, frozen=True):
    """Topics with the version of the table that they are from."""

    topics: dict[str, TopicConfig] = field(default_factory=dict, name="topicConfigTable")
    data_version: DataVersion = field(default_factory=DataVersion, name="dataVersion")
    queue_mappings: dict[str, QueueMapping] = field(default_factory=dict, name="topicQueueMappingInfoMap")


class RegisterBrokerBody(Struct, frozen=True):
    """The topics of a broker and its filter servers."""

    table: TopicTable = field(default_factory=TopicTable, name="topicConfigSerializeWrapper")
    # None means that the broker does not say, and what it said before holds.
    filter_servers: list[str] | None = field(default=None, name="filterServerList")


def body_crc(body: bytes | memoryview) -> int:
    """The checksum that `bodyCrc32` of the request gives: CRC-32 with the sign bit cleared."""
    return zlib.crc32(body) & _CRC_MASK


def decode_register_broker(body: bytes | memoryview, *, is_compressed: bool, version: int) -> RegisterBrokerBody:
    """Reads the body of a registration; no body means no topics.

    Raises:
        BadBody: It is not what it claims to be.
    """
    if not body:
        return RegisterBrokerBody(filter_servers=[])
    # Compat: brokers of 5.x that are set to compress say that they did not. No JSON begins as zlib does.
    if not is_compressed and body[0] != _ZLIB_FIRST_BYTE:
        return fastjson.decode(body, RegisterBrokerBody)
    pieces = _Pieces(_inflate(body))
    data_version = fastjson.decode(pieces.next(), DataVersion)
    topics = [_decode_topic(pieces.next()) for _ in range(pieces.next_count())]
    filter_servers = fastjson.decode(pieces.next(), list[str])
    mapping_count = pieces.next_count() if version >= MAPPINGS_IN_COMPRESSED_BODY else 0
    mappings = [fastjson.decode(pieces.next(), QueueMapping) for _ in range(mapping_count)]
    return RegisterBrokerBody(
        table=TopicTable(
            topics={topic.name: topic for topic in topics},
            data_version=data_version,
            queue_mappings={mapping.topic: mapping for mapping in mappings},
        ),
        filter_servers=filter_servers,
    )


def _inflate(body: bytes | memoryview) -> bytes:
    inflater = zlib.decompressobj()
    try:
        inflated = inflater.decompress(body, INFLATED_SIZE_MAX_BYTES)
    except zlib.error as error:
        raise BadBody(f"the registration can't be decompressed: {error}") from error
    if inflater.unconsumed_tail:
        raise BadBody(f"the registration decompresses to more than {INFLATED_SIZE_MAX_BYTES} bytes")
    return inflated


def _decode_topic(piece: bytes) -> TopicConfig:
    try:
        words = piece.decode().split(" ")
        name, read_queues, write_queues, permissions, filter_type = words[:_TOPIC_WORDS_MIN]
        return TopicConfig(name, int(read_queues), int(write_queues), int(permissions), filter_type)
    except ValueError as error:
        raise BadBody(f"the registration has a topic that can't be read: {piece[:200]!r}") from error


class _Pieces:
    """Walks over what stands one after the other, each with its length before it."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def next(self) -> bytes:
        return self._take(self.next_count())

    def next_count(self) -> int:
        count = int.from_bytes(self._take(4), signed=True)
        # Everything counted takes at least a byte: a count beyond the data is refused before anything is made for it.
        if not 0 <= count <= len(self._data) - self._at:
            raise BadBody(f"the registration counts {count} where {len(self._data) - self._at} bytes are left")
        return count

    def _take(self, size_bytes: int) -> bytes:
        taken = self._data[self._at : self._at + size_bytes]
        if len(taken) < size_bytes:
            raise BadBody(f"the registration ends {size_bytes - len(taken)} bytes too early")
        self._at += size_bytes
        return taken
