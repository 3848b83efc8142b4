"""The native module: a commit log in Apache RocketMQ's files, and its wire formats.

Work goes over in batches and other Python threads run meanwhile. Three kinds of offset exist and never mix: a log
offset counts bytes of the commit log, a queue offset counts the entries of one queue, and a consumer's offset, which
the store does not know, is the queue offset that a group reads next.
"""

import builtins
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, final

from typing_extensions import Buffer

__all__ = [
    "ExpiryReport",
    "Frame",
    "Message",
    "QueueIterator",
    "QueueStatus",
    "Receipt",
    "Receipts",
    "Record",
    "RecoveryReport",
    "Statistics",
    "Store",
    "_measure_floor_s",
    "decode_frames",
    "decode_records",
    "encode_frames",
]

@final
class Message:
    """A message to be appended. Immutable, and checked by the store when it is appended."""

    def __new__(
        cls,
        topic: str,
        body: Buffer,
        *,
        tags: str | None = None,
        keys: str | Sequence[str] | None = None,
        properties: Mapping[str, str] | bytes | None = None,
        queue_id: int = 0,
        flag: int = 0,
        sys_flag: int = 0,
        born_timestamp_ms: int | None = None,
        born_host: str = "127.0.0.1:0",
        reconsume_times: int = 0,
        prepared_transaction_offset: int = 0,
    ) -> Self:
        """Makes a message.

        Args:
            topic: Letters, digits, `_`, `-`, `%` and `|`; at most 127 bytes.
            body: The payload; `bytes` are not copied.
            tags: What subscriptions filter by.
            keys: What `Store.find_by_key` finds; several may be given.
            properties: Further names and values, or a property string that is encoded already.
            queue_id: The queue of the topic.
            flag: The producer's own.
            sys_flag: Compression and transaction kind; see FORMATS.md.
            born_timestamp_ms: When the producer made it; now, unless given.
            born_host: Where the producer was, as `address:port`.
            reconsume_times: How often consumers gave it back.
            prepared_transaction_offset: Log offset of the half message that it commits.

        Raises:
            ValueError: A property is empty or holds a byte that the format keeps for itself.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def topic(self) -> str:
        """The topic."""
    @property
    def body(self) -> bytes:
        """The payload."""
    @property
    def properties(self) -> dict[str, str]:
        """All properties, tags and keys among them."""
    @property
    def properties_bytes(self) -> bytes:
        """The property string as it is stored."""
    @property
    def queue_id(self) -> int:
        """The queue of the topic."""
    @property
    def flag(self) -> int:
        """The producer's own flag."""
    @property
    def sys_flag(self) -> int:
        """Compression and transaction kind."""
    @property
    def born_timestamp_ms(self) -> int:
        """When the producer made it."""
    @property
    def born_host(self) -> str:
        """Where the producer was."""
    @property
    def reconsume_times(self) -> int:
        """How often consumers gave it back."""
    @property
    def prepared_transaction_offset(self) -> int:
        """Log offset of the half message that it commits."""

@final
class Receipt:
    """Where one message went."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def log_offset(self) -> int:
        """Where its record begins in the log."""
    @property
    def size_bytes(self) -> int:
        """Size of its record."""
    @property
    def queue_offset(self) -> int:
        """Its place in its queue; 0 for a message that is in no queue."""
    @property
    def store_timestamp_ms(self) -> int:
        """When it was appended."""
    @property
    def end_offset(self) -> int:
        """Where its record ends: what to wait for."""

@final
class Receipts:
    """Where the messages of a batch went, in the order given. A receipt is made when it is looked at."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Receipt: ...
    def __iter__(self) -> Iterator[Receipt]: ...
    @property
    def end_offset(self) -> int:
        """Where the last record ends; durable up to here, the whole batch is. 0 for an empty batch."""

@final
class Record:
    """A message in the log, or received in the log's format. Attributes are read from its bytes when asked for.

    A record keeps its segment mapped, whatever expiry does meanwhile, and so do the memoryviews taken from it.
    """

    @property
    def topic(self) -> str:
        """The topic."""
    @property
    def queue_id(self) -> int:
        """The queue of the topic."""
    @property
    def queue_offset(self) -> int:
        """Its place in the queue."""
    @property
    def log_offset(self) -> int:
        """Where it begins in the log."""
    @property
    def size_bytes(self) -> int:
        """Size of the whole record."""
    @property
    def flag(self) -> int:
        """The producer's own flag."""
    @property
    def sys_flag(self) -> int:
        """Compression, transaction kind and address kinds."""
    @property
    def body_crc(self) -> int:
        """Checksum of the body as stored."""
    @property
    def born_timestamp_ms(self) -> int:
        """When the producer made it."""
    @property
    def born_host(self) -> str:
        """Where the producer was."""
    @property
    def store_timestamp_ms(self) -> int:
        """When it was appended."""
    @property
    def store_host(self) -> str:
        """The broker that appended it."""
    @property
    def reconsume_times(self) -> int:
        """How often consumers gave it back."""
    @property
    def prepared_transaction_offset(self) -> int:
        """Log offset of the half message that it commits, else 0."""
    @property
    def body(self) -> memoryview:
        """The body as stored, compressed or not: read-only, not copied."""
    @property
    def bytes(self) -> memoryview:
        """The whole record as stored: read-only, not copied."""
    @property
    def properties(self) -> dict[str, str]:
        """All properties."""
    @property
    def unique_id(self) -> str | None:
        """The id that its producer gave it."""
    @property
    def offset_message_id(self) -> str:
        """The id that says where it is: broker and log offset."""
    def decoded_body(self, *, size_max_bytes: int = 16_777_216) -> builtins.bytes:
        """The body, decompressed if need be.

        Raises:
            BadBody: The bytes are not what the compression kind says, or more than `size_max_bytes` come out.
        """

@final
class QueueStatus:
    """A queue and the offsets that it holds."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def topic(self) -> str:
        """The topic."""
    @property
    def queue_id(self) -> int:
        """Its number."""
    @property
    def min_offset(self) -> int:
        """The first queue offset that is still there."""
    @property
    def max_offset(self) -> int:
        """The queue offset that the next message gets."""

@final
class RecoveryReport:
    """What opening a store found and did."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def was_orderly(self) -> bool:
        """Whether the last stop was orderly and its note was right: nothing had to be looked for."""
    @property
    def checked_from(self) -> int:
        """The log offset from which records were checked."""
    @property
    def records_checked(self) -> int:
        """How many records were checked."""
    @property
    def bytes_checked(self) -> int:
        """How many bytes of records were checked."""
    @property
    def log_end(self) -> int:
        """Where the log ends."""
    @property
    def end_reason(self) -> str:
        """Why it ends there, in words; empty where nothing follows its last record."""
    @property
    def has_cut_log(self) -> bool:
        """Whether bytes behind the end, or whole segments, had to go."""
    @property
    def has_rebuilt_queues(self) -> bool:
        """Whether all consume queues were made anew from the log."""
    @property
    def has_rebuilt_index(self) -> bool:
        """Whether the key index was made anew from the log."""
    @property
    def records_rebuilt(self) -> int:
        """How many records went through the queue builder."""
    @property
    def record_crc_mismatches(self) -> list[int]:
        """Log offsets of records that are whole but do not agree with their own checksum property."""

@final
class ExpiryReport:
    """What an expiry removed."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def segments_expired(self) -> int:
        """Segments that left the log."""
    @property
    def files_removed(self) -> int:
        """Files that were removed, of this run's segments and of earlier ones."""
    @property
    def files_waiting(self) -> int:
        """Files that wait for their readers."""
    @property
    def log_start(self) -> int:
        """Where the log begins now."""

@final
class Statistics:
    """Numbers since the store was opened."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def messages_appended(self) -> int:
        """Messages appended."""
    @property
    def bytes_appended(self) -> int:
        """Bytes of their records."""
    @property
    def batches_appended(self) -> int:
        """Batches they came in."""
    @property
    def flushes(self) -> int:
        """Flushes that succeeded."""
    @property
    def log_start(self) -> int:
        """The first byte of the log."""
    @property
    def log_end(self) -> int:
        """Where the log ends."""
    @property
    def durable_end(self) -> int:
        """How far it is on disk."""
    @property
    def visible_end(self) -> int:
        """How far it is in the queues."""
    @property
    def segments(self) -> int:
        """Log segments."""
    @property
    def queues(self) -> int:
        """Consume queues."""
    @property
    def files_waiting(self) -> int:
        """Files of expired segments that wait for their readers."""
    @property
    def disk_used_ratio(self) -> float:
        """Share of the disk in use, as last looked at."""
    @property
    def poisoned_by(self) -> str | None:
        """Why nothing is acknowledged any more."""

@final
class QueueIterator(Iterator[Record]):
    """Records of a queue in order, up to its end; asked again later, it goes on where it was."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Record: ...

@final
class Store:
    """A commit log with its consume queues and key index, open in this process alone.

    Use it as a context manager, so that it is closed in order. All methods may be called from any thread. In a process
    that was forked off, they raise `StoreClosed`: the store stays its parent's.
    """

    @staticmethod
    def open(
        path: str | PathLike[str],
        *,
        flush: Literal["sync", "async"] = "sync",
        segment_size_bytes: int = 1_073_741_824,
        queue_file_entries: int = 300_000,
        index_slots: int = 5_000_000,
        index_entries: int = 20_000_000,
        checkpoint_interval_ms: int = 1_000,
        body_size_max_bytes: int = 4_194_304,
        record_crc: bool = False,
        store_host: str = "127.0.0.1:10911",
        retention_age_ms: int = 259_200_000,
        retention_hour: int = 4,
        disk_clean_ratio: float = 0.75,
        disk_force_ratio: float = 0.85,
        disk_refuse_ratio: float = 0.9,
        reader_grace_ms: int = 120_000,
    ) -> Store:
        """Opens a store, or makes an empty one; after a crash it recovers first.

        Args:
            path: The store's folder.
            flush: `sync`: durable means on disk, by group commit. `async`: flushed at intervals; what was appended
                survives the process, not a power loss.
            segment_size_bytes: Size of a log file. Sizes found on disk beat this and the next three.
            queue_file_entries: Entries of a queue file.
            index_slots: Hash slots of a key-index file.
            index_entries: Entries of a key-index file.
            checkpoint_interval_ms: How often queues and index are made durable.
            body_size_max_bytes: Largest body.
            record_crc: Whether records carry a checksum over all of them, which Apache brokers ignore by default.
            store_host: The address that records give as the broker's.
            retention_age_ms: Age after which a log file may go.
            retention_hour: Hour of the day, local time, in which old log files go.
            disk_clean_ratio: Disk use from which old log files go at any hour.
            disk_force_ratio: Disk use from which log files go whatever their age.
            disk_refuse_ratio: Disk use from which writes are refused.
            reader_grace_ms: How long a reader may hold back the deletion of a file.

        Raises:
            BadOption: A value that no store can be made with.
            StoreInUse: Another process, or another `Store` of this one, has the folder.
            PermissionDenied: The folder or a file may not be read and written.
            ForeignFile: A file that has no business there.
            WrongSize: A file whose size is not that of its neighbours.
            MissingFile: A hole in the log or a queue.
            NotALog: The log does not begin with a record.
            UnsupportedStore: A store of a kind that this one can't keep whole.
        """
    def append(self, messages: Sequence[Message]) -> Receipts:
        """Appends a batch: all of it or, if a message is refused, nothing.

        The messages are in the log and will survive the process; `wait_durable` waits until they survive a power loss.

        Raises:
            BadMessage: A message that can't be stored; `index` says which.
            DiskFull: There is not enough space.
            StorePoisoned: A flush failed; open the store again.
            StoreClosed: The store was closed.
        """
    def wait_durable(self, end_offset: int, *, timeout_s: float = 5.0) -> None:
        """Waits until the log is on disk up to `end_offset`.

        Raises:
            NotYetDurable: It was not, in time.
            StorePoisoned: A flush failed; the messages must not be acknowledged.
        """
    def wait_visible(self, end_offset: int, *, timeout_s: float = 5.0) -> None:
        """Waits until all messages before `end_offset` are in their queues; in sync mode they are durable then too.

        Raises:
            NotYetDurable: They were not, in time.
            StorePoisoned: A flush failed; the messages must not be acknowledged.
        """
    def flush(self) -> int:
        """Brings everything appended so far to disk, and returns the log offset up to which it is there.

        Raises:
            StorePoisoned: It failed, now or before.
        """
    def read(
        self, topic: str, queue_id: int, offset: int, *, count_max: int = 32, size_max_bytes: int = 4_194_304
    ) -> list[Record]:
        """Records of a queue from a queue offset on; none at or past its end.

        The first record comes whatever its size; further ones while they fit into `size_max_bytes`.
        """
    def iterate(
        self,
        topic: str,
        queue_id: int,
        offset: int = 0,
        *,
        count_max: int = 256,
        size_max_bytes: int = 4_194_304,
    ) -> QueueIterator:
        """Iterates over a queue from a queue offset to its end, reading `count_max` at a time.

        What has expired is passed over: where `offset` is gone, the first message that is still there comes first.
        """
    def queues(self) -> list[QueueStatus]:
        """All queues."""
    def record_at(self, log_offset: int) -> Record:
        """The record that begins at a log offset.

        Raises:
            NoRecord: None begins there, or none is any more, or none is yet.
        """
    def find_by_key(
        self,
        topic: str,
        key: str,
        *,
        count_max: int = 32,
        begin_ms: int = 0,
        end_ms: int | None = None,
    ) -> list[Record]:
        """Records of a topic with a key, stored between two times, newest first."""
    def find_by_unique_id(self, topic: str, unique_id: str) -> Record | None:
        """The record of a topic with the id that its producer gave it."""
    def offset_by_time(
        self, topic: str, queue_id: int, timestamp_ms: int, *, boundary: Literal["lower", "upper"] = "lower"
    ) -> int | None:
        """The queue offset of a time.

        `lower` means the first message stored at or after that time, else the queue's end; `upper` the last one at or
        before it, else the queue's start. None where there is no such queue.
        """
    @property
    def path(self) -> Path:
        """The store's folder."""
    @property
    def log_start(self) -> int:
        """The log offset of the first byte that is still there."""
    @property
    def log_end(self) -> int:
        """The log offset of the next record."""
    @property
    def durable_end(self) -> int:
        """The log offset up to which the log is on disk."""
    @property
    def visible_end(self) -> int:
        """The log offset up to which messages are in their queues."""
    @property
    def recovery_report(self) -> RecoveryReport:
        """What opening found and did."""
    def statistics(self) -> Statistics:
        """Numbers since the store was opened."""
    def expire(self) -> ExpiryReport:
        """Removes what is too old or does not fit any more, now and not at the next round."""
    def close(self) -> None:
        """Closes the store in order: everything is flushed, and the next opening has nothing to recover.

        Records and memoryviews stay valid.
        """
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

@final
class Frame:
    """A request or a response of the remoting protocol. Immutable."""

    def __new__(
        cls,
        code: int,
        *,
        language: str = "PYTHON",
        version: int = 0,
        opaque: int = 0,
        flag: int = 0,
        remark: str | None = None,
        ext_fields: Mapping[str, str] | None = None,
        body: Buffer | None = None,
        header_kind: Literal["json", "binary"] = "json",
    ) -> Self:
        """Makes a frame; what the arguments mean is in FORMATS.md."""

    def __eq__(self, other: object, /) -> bool: ...
    @property
    def header_kind(self) -> Literal["json", "binary"]:
        """How the header is written."""
    @property
    def code(self) -> int:
        """Request code, or response code in a response."""
    @property
    def language(self) -> str:
        """What the sender is written in."""
    @property
    def version(self) -> int:
        """Ordinal of the sender's version."""
    @property
    def opaque(self) -> int:
        """The request's number, repeated in its response."""
    @property
    def flag(self) -> int:
        """Bit 0 a response, bit 1 one-way."""
    @property
    def is_response(self) -> bool:
        """Whether this answers a request."""
    @property
    def is_one_way(self) -> bool:
        """Whether nobody waits for an answer."""
    @property
    def remark(self) -> str | None:
        """What went wrong, for people."""
    @property
    def ext_fields(self) -> dict[str, str]:
        """The fields of the request or response."""
    @property
    def body(self) -> memoryview:
        """The body, empty where there is none: read-only, not copied."""

def decode_frames(data: Buffer, *, frame_size_max_bytes: int = 16_777_216) -> tuple[list[Frame], int]:
    """The whole frames at the front of `data`, and how many bytes they take; the rest is the start of the next one.

    Raises:
        BadFrame: The stream can't be read on; the connection has to be closed.
    """

def encode_frames(frames: Sequence[Frame]) -> bytes:
    """The bytes of the frames, one after the other.

    Raises:
        BadFrame: A header holds more than its form can express.
    """

def decode_records(data: Buffer) -> list[Record]:
    """The records that stand in `data` one after the other, as a pull is answered with.

    Raises:
        BadRecord: Something else stands there.
    """

def _measure_floor_s(bodies: Sequence[bytes], rounds: int) -> float:
    """Seconds that one copy and one CRC-32 of the bodies take, `rounds` times: the yardstick of bench/python."""
