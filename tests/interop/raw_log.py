"""A commit log read from its bytes alone, so that a test can look at a store without asking either implementation.

FORMATS.md draws the record. Only what the tests need is read, and no checksum is verified: a log ends here where no
record begins or none fits, whatever a recovery would say about the last one.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC_V1 = 0xDAA320A7
MAGIC_V2 = 0xDAA320AB
MAGIC_BLANK = 0xCBD43194

BORN_HOST_IPV6 = 1 << 4
STORE_HOST_IPV6 = 1 << 5

# size, magic, body CRC, queue id, flag, queue offset, physical offset, system flag, born timestamp
HEAD = struct.Struct(">IIIiiqqiq")
PHYSICAL_OFFSET_AT = 28


@dataclass(frozen=True)
class RawRecord:
    """Where a record lies and which queue it names."""

    offset: int
    size: int
    magic: int
    sys_flag: int
    topic: str
    queue_id: int
    queue_offset: int
    body_at: int
    body: bytes

    @property
    def end(self) -> int:
        """The offset of whatever follows."""
        return self.offset + self.size


def records(store: Path) -> Iterator[RawRecord]:
    """Every record of a store, in the order of the log."""
    for path in segments(store):
        yield from _records_of_segment(int(path.name), path.read_bytes())


def segments(store: Path) -> list[Path]:
    """The files of a store's log, oldest first."""
    return sorted((store / "commitlog").iterdir())


def read_at(store: Path, offset: int, size: int) -> bytes:
    """Part of the log; it ends with its segment at the latest."""
    segment, position = _locate(store, offset)
    with segment.open("rb") as file:
        file.seek(position)
        return file.read(size)


def write_at(store: Path, offset: int, content: bytes) -> None:
    """Overwrites part of the log; what does not fit into the segment is left out."""
    segment, position = _locate(store, offset)
    with segment.open("r+b") as file:
        room = segment.stat().st_size - position
        file.seek(position)
        file.write(content[:room])


def _locate(store: Path, offset: int) -> tuple[Path, int]:
    segment = max((path for path in segments(store) if int(path.name) <= offset), key=lambda path: int(path.name))
    return segment, offset - int(segment.name)


def _records_of_segment(start: int, content: bytes) -> Iterator[RawRecord]:
    position = 0
    while position + HEAD.size <= len(content):
        size, magic, _, queue_id, _, queue_offset, _, sys_flag, _ = HEAD.unpack_from(content, position)
        if magic not in (MAGIC_V1, MAGIC_V2) or not HEAD.size < size <= len(content) - position:
            return
        hosts = sum(20 if sys_flag & bit else 8 for bit in (BORN_HOST_IPV6, STORE_HOST_IPV6))
        # Between the hosts lies the store timestamp; after them the reconsume times and the prepared offset.
        body_length_at = position + HEAD.size + hosts + 8 + 4 + 8
        body_at = body_length_at + 4
        (body_length,) = struct.unpack_from(">I", content, body_length_at)
        topic_at = body_at + body_length
        if topic_at >= position + size:
            return
        topic_length_format = struct.Struct(">B" if magic == MAGIC_V1 else ">H")
        (topic_length,) = topic_length_format.unpack_from(content, topic_at)
        topic_at += topic_length_format.size
        yield RawRecord(
            offset=start + position,
            size=size,
            magic=magic,
            sys_flag=sys_flag,
            topic=content[topic_at : topic_at + topic_length].decode(),
            queue_id=queue_id,
            queue_offset=queue_offset,
            body_at=body_at - position,
            body=content[body_at : body_at + body_length],
        )
        position += size
