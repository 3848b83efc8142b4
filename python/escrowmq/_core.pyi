"""The native module: a commit log in Apache RocketMQ's files, and its wire formats.

Work goes over in batches and other Python threads run meanwhile. Three kinds of offset exist and never mix: a log
offset counts bytes of the commit log, a queue offset counts the entries of one queue, and a consumer's offset, which
the store does not know, is the queue offset that a group reads next.
"""

import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Literal, Self, final

from typing_extensions import Buffer, disjoint_base

__all__ = [
    "Answer",
    "ArrowStream",
    "BrokerServer",
    "Caller",
    "Clock",
    "ConfigFile",
    "ConnectionClosed",
    "ConnectionOpened",
    "ExpiryReport",
    "FastLaneStatistics",
    "Finding",
    "Frame",
    "GroupEntry",
    "IndexFileStatus",
    "Inspection",
    "Limits",
    "LogVisible",
    "Message",
    "NativeLog",
    "Observation",
    "ObservedQueue",
    "OutgoingMessage",
    "OutgoingRequest",
    "Prepare",
    "PrepareReader",
    "PropertyFilter",
    "QueueEntry",
    "QueueIterator",
    "QueueStatus",
    "Receipt",
    "Receipts",
    "Record",
    "RecoveryReport",
    "Replies",
    "Request",
    "RequestWritten",
    "Response",
    "Server",
    "ServerStatistics",
    "Statistics",
    "Store",
    "StoreSummary",
    "SubscriptionEntry",
    "TimerStatistics",
    "Timers",
    "TopicEntry",
    "Traffic",
    "Transaction",
    "TransactionIndex",
    "_measure_floor_s",
    "decode_frames",
    "decode_records",
    "encode_frames",
    "read_decisions",
    "topics_of_sends",
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
        store_host: str | None = None,
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
            store_host: The broker that its record names; the store's own, unless given.

        Raises:
            ValueError: A property is empty or holds a byte that the format keeps for itself.
        """

    @staticmethod
    def copy_of(
        record: Record,
        *,
        topic: str | None = None,
        queue_id: int | None = None,
        properties: Mapping[str, str] | bytes | None = None,
        without: Sequence[str] | None = None,
        sys_flag: int | None = None,
        reconsume_times: int | None = None,
        prepared_transaction_offset: int = 0,
        keeps_store_host: bool = False,
    ) -> Message:
        """A record to be appended once more: as it is, but for what is given. Its body may be as large as it is.

        Args:
            record: The record.
            topic: Another topic.
            queue_id: Another queue.
            properties: Other properties, instead of all of its own.
            without: Names of its own properties that are left out.
            sys_flag: Another flag.
            reconsume_times: Another count of how often consumers gave it back.
            prepared_transaction_offset: Log offset of the half message that it commits; that of the record is not kept.
            keeps_store_host: Whether it names the broker that the record names, and not the one that appends it.
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
    @property
    def store_host(self) -> str | None:
        """The broker that its record names; None for the store's own."""

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
    def properties_bytes(self) -> builtins.bytes:
        """The property string as it is stored."""
    def find_property(self, name: str) -> str | None:
        """One property; cheaper than all of them."""
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
    def moved(self, topic: str, queue_id: int) -> builtins.bytes:
        """The whole record as it would be in another queue; all else that it says stays.

        Raises:
            BadRecord: No record can have such a topic.
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
class QueueEntry:
    """An entry of a queue: where the record of a queue offset lies."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def queue_offset(self) -> int:
        """The queue offset."""
    @property
    def log_offset(self) -> int:
        """Where the record begins in the log."""
    @property
    def size_bytes(self) -> int:
        """Size of the record."""
    @property
    def tags_code(self) -> int:
        """Hash of the record's tags; in `SCHEDULE_TOPIC_XXXX`, when it is to be delivered."""

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
        delay_levels_ms: Sequence[int] | None = None,
        clock: Clock | None = None,
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
            delay_levels_ms: How long messages of `SCHEDULE_TOPIC_XXXX` wait, by level; as in RocketMQ unless given.
            clock: What tells it the time; one of its own unless given.

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
    def append(self, messages: Sequence[Message], *, uses_reserve: bool = False) -> Receipts:
        """Appends a batch: all of it or, if a message is refused, nothing.

        The messages are in the log and will survive the process; `wait_durable` waits until they survive a power loss.

        Args:
            messages: What to append.
            uses_reserve: Whether it is taken also from `disk_refuse_ratio` on, as long as there is room: for what ends
                something that was taken before.

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
    def entries(self, topic: str, queue_id: int, offset: int, *, count_max: int = 256) -> list[QueueEntry]:
        """Entries of a queue from a queue offset on, or from the first that is still there; none at or past its end.

        Their records are not touched, and the last may be visible only a moment later.
        """
    def queues(self) -> list[QueueStatus]:
        """All queues."""
    def queue(self, topic: str, queue_id: int) -> QueueStatus | None:
        """A queue, where there is one."""
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
        """Records of a topic with a key, stored between two times, newest first.

        A tag is the key `T#` and the tag. Of a key whose hash more than a thousand other keys have, old records may be
        missing.
        """
    def key_index_end(self) -> tuple[int, int] | None:
        """The log offset and the store time of the last record in the key index."""
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
    def expire(self, *, any_hour: bool = False) -> ExpiryReport:
        """Removes what is too old or does not fit any more, now and not at the next round.

        Args:
            any_hour: Whether old log files go in other hours than `retention_hour` too.
        """
    def expire_soon(self) -> None:
        """Has old log files go whatever the hour, in the next twenty rounds. Does not wait for them."""
    def expire_queues(self) -> None:
        """Removes files of queues and of the key index that hold nothing of the log any more."""
    def set_retention(self, *, age_ms: int, hour: int, disk_clean_ratio: float) -> None:
        """Goes on with other values of `retention_age_ms`, `retention_hour` and `disk_clean_ratio`."""
    def delete_topics(self, topics: Sequence[str]) -> int:
        """Deletes topics, durably: their queues go, and a topic that is made again begins at queue offset 0.

        Their messages stay in the log, and can be found by key, until they expire. How many queues went is returned.

        Raises:
            TopicInUse: Messages are appended to one of them all the time.
            StorePoisoned: A flush failed; open the store again.
        """
    def hold_from(self, log_offset: int | None) -> None:
        """Has expiry leave the segment of a log offset and all later ones alone, however old and however full the disk.

        Args:
            log_offset: The first byte that must stay; None holds nothing, as does a store that was just opened.
        """
    def fail_next_flush(self) -> None:
        """Has the next flush fail as if the disk had refused it: the store is poisoned then. For tests."""
    def abandon(self) -> None:
        """Stops as a kill would: nothing is flushed any more, and the next opening recovers. For tests."""
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
class Clock:
    """The machine's clock, and how far it was moved on. A store and the servers around it share one.

    Store times, expiry and whatever waits for a time follow it; timeouts of sockets and of flushes are real ones.
    """

    def __new__(cls, *, stands: bool = False) -> Self:
        """A clock that tells the machine's time; for tests, one that stands between their moves."""

    def wall_ms(self) -> int:
        """Milliseconds since 1970 UTC: for what is written down."""
    def monotonic_ms(self) -> int:
        """Milliseconds since some moment: for how long ago things were. Unlike the time of day it is never set."""
    def advance(self, by_ms: int) -> None:
        """Moves it on, which only tests do. Threads of stores that wait for a time look again.

        Raises:
            OverflowError: Less than nothing, or more than 49 days at once.
        """

@final
class TimerStatistics:
    """What timers did since they were opened."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def taken_in(self) -> int:
        """Messages that began to wait."""
    @property
    def delivered(self) -> int:
        """Messages delivered."""
    @property
    def delivered_late(self) -> int:
        """Of these, messages that were due before they could begin to wait."""
    @property
    def rolled(self) -> int:
        """Messages put back to wait longer."""
    @property
    def recalled(self) -> int:
        """Messages taken back by their senders."""
    @property
    def found_delivered(self) -> int:
        """Messages that were in the log already when they were due: a kill had come before the checkpoint."""
    @property
    def lost(self) -> int:
        """Messages that could not be delivered: expired, damaged, or for a queue that can't be."""
    @property
    def rebuilds(self) -> int:
        """How often wheel and timer log were made anew from the timer topic."""

@final
class Timers:
    """Messages of a store that wait for a time of their own, and the thread that delivers them.

    They wait in queue 0 of `rmq_sys_wheel_timer`, each with its slot's time in `TIMER_OUT_MS` and its own queue in
    `REAL_TOPIC` and `REAL_QID`. Wheel, timer log and checkpoint are Apache RocketMQ's; a store without such messages
    has none of them.
    """

    @staticmethod
    def start(
        store: Store,
        *,
        precision_ms: int = 1_000,
        roll_window_slots: int = 172_800,
        log_file_size_bytes: int = 104_857_600,
    ) -> Timers:
        """Opens the timers of a store, and runs them by its clock until they are closed.

        Args:
            store: The store. It must be closed after its timers.
            precision_ms: Milliseconds of a slot: as exact as deliveries are.
            roll_window_slots: Slots that a message waits at most before it goes round by the timer topic.
            log_file_size_bytes: Bytes of a file of the timer log. Sizes found on disk beat it.

        Raises:
            BadOption: No wheel can have these sizes.
            ForeignFile: Something is in the way.
        """
    def appended(self, end_offset: int) -> None:
        """Says that a message was appended to the timer topic, and where its record ends."""
    def count_at(self, time_ms: int) -> int:
        """How many messages wait in the slot of a time."""
    def checkpoint(self) -> bytes:
        """How far they are, as replicas ask for it: 56 bytes."""
    def metrics(self) -> str:
        """How many messages wait for each topic, as the JSON of `timermetrics`."""
    def statistics(self) -> TimerStatistics:
        """What they did since they were opened."""
    @property
    def broken_by(self) -> str | None:
        """Why they stand still until the store is opened again; None while they run."""
    def close(self) -> None:
        """Stops them, and writes down how far they are. A second call does nothing."""
    def abandon(self) -> None:
        """Stops them as a kill would: how far they are is for the next start to find out. For tests."""

@final
class Transaction:
    """A transaction: a half message, all copies that were made of it, and how it ended."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def root_log_offset(self) -> int:
        """Log offset of its first half record, which may have expired."""
    @property
    def root_store_ms(self) -> int:
        """When that one was stored: its age counts from here."""
    @property
    def group(self) -> str:
        """The producer group."""
    @property
    def topic(self) -> str:
        """The topic that its message is for."""
    @property
    def queue_id(self) -> int:
        """The queue that its message is for."""
    @property
    def unique_id(self) -> str:
        """The id that the producer gave its message."""
    @property
    def body_crc(self) -> int:
        """Checksum of its message's body."""
    @property
    def checks(self) -> int:
        """How often its producer was asked."""
    @property
    def is_asked(self) -> bool:
        """Whether the question about the newest copy has left, since the start."""
    @property
    def state(self) -> Literal["pending", "committed", "rolled_back", "discarded", "closed"]:
        """Where it stands. `closed`: an Apache broker was done with it, and left nothing that says how."""
    @property
    def half_offset(self) -> int:
        """Half offset of the newest copy."""
    @property
    def log_offset(self) -> int:
        """Log offset of the newest copy."""
    @property
    def live_half_offsets(self) -> list[int]:
        """Copies that no op record names, oldest first: what the op record of its decision has to name."""
    @property
    def store_ms(self) -> int:
        """When the newest copy was stored."""
    @property
    def decided_ms(self) -> int | None:
        """When it was decided; None while it is pending, and where no record says."""
    @property
    def decided_by(self) -> str | None:
        """Who decided, where a record says."""
    @property
    def decision_end(self) -> int:
        """The log offset behind the last record of the decision: what to wait for. 0 where there is none."""
    @property
    def final_log_offset(self) -> int | None:
        """Log offset of the committed message."""

@final
class Prepare:
    """An ordinary prepare: a send that becomes a half message."""

    @property
    def topic(self) -> str:
        """The topic that it is for."""
    @property
    def queue_id(self) -> int:
        """The queue that it is for."""
    @property
    def group(self) -> str:
        """The producer group that decides it."""
    @property
    def unique_id(self) -> str:
        """Its id."""
    @property
    def size_bytes(self) -> int:
        """Bytes of its body and its properties."""
    def to_message(self) -> Message:
        """The half message, as the store takes it."""

@final
class PrepareReader:
    """Reads prepares and answers them, for one broker."""

    def __new__(cls, *, region: str, cluster: str, asks_for_traces: bool, store_host: str) -> Self:
        """Makes a reader.

        Args:
            region: What messages and answers have as their region.
            cluster: What messages have as their cluster.
            asks_for_traces: Whether they ask clients to trace.
            store_host: The broker in the ids of its messages, as `address:port`.

        Raises:
            ValueError: The host is none.
        """
    def read(self, requests: Sequence[object]) -> list[Prepare | None]:
        """The half messages in requests; None for whatever is no ordinary prepare of a `Request`.

        Out of the ordinary are batches, sends to retry topics and to any queue, those with a delay or without an id, a
        group or a body, and those with so many properties that they may be too much.
        """
    def answers(self, prepares: Sequence[Prepare], receipts: Sequence[Receipt] | Receipts) -> list[Answer]:
        """The answers to prepares that were appended. Each goes out when its half message is durable.

        Raises:
            ValueError: There are more prepares than receipts, or fewer.
        """

@final
class TransactionIndex:
    """Which transactions of a store are pending, and how the others ended: a function of its log.

    Whoever appends records of transactions (half messages and copies of them, op records, final messages, discards)
    does so from one thread, and says so with `note` at once and in order. A half offset is a queue offset of the half
    topic.
    """

    @staticmethod
    def open(store: Store, *, decided_since_ms: int = 0) -> TransactionIndex:
        """Reads the index: what `save` wrote and the log behind it, or all of the log where the two do not agree.

        Args:
            store: The store. Expiry may run meanwhile: `Store.hold_from(0)` keeps it from what is not read yet.
            decided_since_ms: Transactions that were decided earlier are left out, unless they are unmarked.

        Raises:
            Damaged: The log has a record that can't be read.
        """
    def note(self, messages: Sequence[Message], receipts: Sequence[Receipt] | Receipts) -> None:
        """Takes in what was just appended; what does not concern transactions may be among it.

        Raises:
            ValueError: There are more messages than receipts, or fewer.
        """
    def find(self, places: Sequence[tuple[int, int]]) -> list[Transaction | None]:
        """The transactions of copies, each given by half offset and log offset; None where no copy has both."""
    def are_new(self, prepares: Sequence[Prepare]) -> list[bool]:
        """Whether there is no pending transaction of the group with the id, and none before it in the list."""
    def find_undecided(self, group: str, unique_id: str) -> Transaction | None:
        """The newest pending transaction of a group with this unique id."""
    def pending(
        self, *, group: str | None = None, from_half: int = 0, to_half: int | None = None, count_max: int = 256
    ) -> list[Transaction]:
        """Pending transactions, by the half offset of their newest copy.

        Args:
            group: Of this group only.
            from_half: Whose newest copy has this half offset or a higher one.
            to_half: And one below this.
            count_max: No more than these.
        """
    def pending_by_group(self) -> dict[str, int]:
        """How many transactions are pending, for each group that has any."""
    def pending_by_topic(self) -> dict[str, int]:
        """How many transactions are pending, by the topic that their message is for."""
    def decided(self, *, count_max: int = 256) -> list[Transaction]:
        """Decided transactions, the last decision first."""
    def unmarked(self, *, count_max: int = 256) -> list[Transaction]:
        """Decided transactions with live copies: an op record is missing. Closed ones are not among them."""
    def live_before(self, log_offset: int, *, count_max: int = 256) -> list[Transaction]:
        """Pending transactions with a live copy that begins before a log offset."""
    def mark_asked(self, half_offsets: Sequence[int]) -> None:
        """Notes that the questions about these copies have left; those that are not the newest don't matter."""
    def close_before(self, half_offset: int) -> int:
        """Closes pending transactions whose newest copy lies before a half offset. Returns how many.

        For a store that an Apache broker had, which never looks before that offset again.
        """
    def forget_decided_before(self, ms: int) -> int:
        """Forgets transactions that were decided before a time, but for unmarked ones. Returns how many."""
    def forget_decided_beyond(self, count_max: int) -> int:
        """Forgets decided transactions, the first decision first, until so many are left; unmarked ones stay.

        Returns how many.
        """
    def save(self) -> bool:
        """Writes the index down, so that the next start need not read the log before `end`.

        To be called by the thread that calls `note`, when it has told of all that it appended.

        Returns:
            False if the log is not durable as far as the index has seen it. What it knows now is kept then, and a later
            call writes it.

        Raises:
            DiskFull: There is no room; what was saved before is still there.
        """
    @property
    def pending_count(self) -> int:
        """How many are pending."""
    @property
    def decided_count(self) -> int:
        """How many decided ones are remembered."""
    @property
    def ignored_count(self) -> int:
        """Records of the half topic that are no transaction: group, unique id or topic are missing."""
    @property
    def contradiction_count(self) -> int:
        """Decisions in the log that came after another one of the same transaction. The first stays."""
    @property
    def end(self) -> int:
        """The log offset up to which it has seen everything."""
    @property
    def saved_end(self) -> int:
        """The log offset from which on the next start would read the log."""
    @property
    def first_live_half_offset(self) -> int | None:
        """The lowest half offset of a live copy whose transaction is pending."""
    @property
    def first_live_log_offset(self) -> int | None:
        """The log offset of that copy: nothing from there on may expire."""
    @property
    def oldest_root_store_ms(self) -> int | None:
        """When the oldest root of a pending transaction was stored."""
    @property
    def memory_bytes(self) -> int:
        """How much memory it takes, about."""

@final
class Finding:
    """Something in a store that is not as it should be."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def severity(self) -> Literal["error", "note"]:
        """`error`: something is lost or wrong. `note`: the next start puts it right, or it can't be checked."""
    @property
    def part(self) -> Literal["log", "queue", "index", "checkpoint", "config"]:
        """The part of the store."""
    @property
    def path(self) -> Path:
        """The file or folder."""
    @property
    def offset(self) -> int | None:
        """Where in it: a log offset, a queue offset, or the number of an index entry."""
    @property
    def message(self) -> str:
        """What is wrong."""

@final
class IndexFileStatus:
    """A file of the key index."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def name(self) -> str:
        """Its name: when it was made."""
    @property
    def entries(self) -> int:
        """How many entries it has."""
    @property
    def begin_ms(self) -> int:
        """Store time of its first record."""
    @property
    def end_ms(self) -> int:
        """Store time of its last record."""

@final
class StoreSummary:
    """What a store holds."""

    @property
    def path(self) -> Path:
        """Its folder."""
    @property
    def holder(self) -> int | None:
        """The process that has it open, if one has."""
    @property
    def was_killed(self) -> bool:
        """Whether the last process that had it open did not stop, or has not stopped yet."""
    @property
    def segment_size_bytes(self) -> int:
        """Size of a log file."""
    @property
    def segments(self) -> int:
        """Log files."""
    @property
    def log_start(self) -> int:
        """The first byte of the log that is still there."""
    @property
    def log_end(self) -> int:
        """Where the log ends."""
    @property
    def oldest_ms(self) -> int | None:
        """Store time of the first record; `None` for an empty log."""
    @property
    def newest_ms(self) -> int | None:
        """Store time of the last record; `None` for an empty log."""
    @property
    def queues(self) -> list[QueueStatus]:
        """Consume queues, by topic and number."""
    @property
    def index_files(self) -> list[IndexFileStatus]:
        """Files of the key index, oldest first; none where they have other sizes than was said."""
    @property
    def checkpoint_log_ms(self) -> int:
        """Store time up to which the checkpoint vouches for the log."""
    @property
    def checkpoint_queues_ms(self) -> int:
        """The same for the queues."""
    @property
    def checkpoint_index_ms(self) -> int:
        """The same for the key index."""
    @property
    def config_files(self) -> list[str]:
        """Names of the configuration files."""

@final
class Observation:
    """A store directory that another process may be writing, ours or Apache's.

    It is read by position, without a lock, as far as it is visible. Nothing is changed, and nobody is held up.
    """

    @staticmethod
    def open(path: str | PathLike[str], /) -> Observation:
        """Opens a store directory.

        Raises:
            IoFailure: There is no store.
            UnsupportedStore: A store of a kind that this one does not know.
        """
    @property
    def path(self) -> Path:
        """The directory."""
    def topics(self) -> list[str]:
        """Topics that have queues, system topics among them."""
    def queues(self, topic: str, /) -> list[ObservedQueue]:
        """The queues of a topic as they are now; none where there is no such topic."""

@final
class ObservedQueue:
    """A queue as it was when it was looked at: what it says does not change.

    A store of ours that runs says how far it may be read. Else a queue ends at the first of its last records that is
    not whole.
    """

    @property
    def topic(self) -> str:
        """Its topic."""
    @property
    def queue_id(self) -> int:
        """Its number."""
    @property
    def min_offset(self) -> int:
        """The first offset whose record is still there."""
    @property
    def max_offset(self) -> int:
        """The offset behind the last that may be read."""
    def entry(self, queue_offset: int, /) -> QueueEntry:
        """The entry at an offset.

        Raises:
            NoRecord: Its file is gone.
        """
    def offset_by_time(self, timestamp_ms: int, *, boundary: Literal["lower", "upper"] = "lower") -> int:
        """The first offset stored at or after a time, or with `upper` the last one at or before it.

        Raises:
            Damaged: A record that the search has to read.
        """
    def scan(
        self,
        start: int,
        end: int,
        *,
        columns: Sequence[str],
        broker: str = "",
        tags: Sequence[str] | None = None,
        key: str | None = None,
        properties: PropertyFilter | None = None,
        store_time_ms: tuple[int, int] | None = None,
        rows_max: int = 4_096,
        size_max_bytes: int = 8_388_608,
    ) -> ArrowStream:
        """Records of a range of offsets as Arrow batches, as far as this queue goes.

        Args:
            start: The first offset.
            end: The offset behind the last.
            columns: What is made of a record: topic, broker, queue_id, queue_offset, keys, tags, body, properties,
                born_timestamp, store_timestamp, born_host, message_id, transaction_id, reconsume_times.
            broker: What the column of that name says.
            tags: Only these. What has other tags is not read, as far as the queue can tell.
            key: Only records with this key.
            properties: Only records that this filter wants.
            store_time_ms: Only what was stored from the first time on and before the second.
            rows_max: About as many rows are in a batch.
            size_max_bytes: About as large is what a batch is made of.
        """

@final
class ArrowStream:
    """Batches that are made while they are read, for whoever speaks Arrow's C stream interface. It can be read once.

    What can't be read is an error of the reader, which names the file and the offset.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The stream, as the interface wants it."""

@final
class Inspection:
    """A store that is looked at and not changed: by whoever may read it, be it open or not."""

    @staticmethod
    def open(
        path: str | PathLike[str],
        *,
        segment_size_bytes: int = 1_073_741_824,
        queue_file_entries: int = 300_000,
        index_slots: int = 5_000_000,
        index_entries: int = 20_000_000,
    ) -> Inspection:
        """Opens a store to look at it.

        Args:
            path: The store's folder.
            segment_size_bytes: Size of a log file, where the store has none.
            queue_file_entries: Entries of a queue file, where the store has none.
            index_slots: Hash slots of a key-index file; with other numbers than it was made with, it can't be read.
            index_entries: Entries of a key-index file, as well.

        Raises:
            IoFailure: There is no store.
            ForeignFile, WrongSize, MissingFile, NotALog: What is wrong with one that can't even be opened.
            UnsupportedStore: A store of a kind that this one does not know.
        """
    def summary(self) -> StoreSummary:
        """What it holds."""
    def check(self, *, size_bytes: int = 67_108_864) -> bool:
        """Checks about as many bytes more; whether there is anything left to check.

        Every record is read, and its entries in queue and index are held against it; then what no record accounts for,
        the checkpoint and the configuration files.

        Raises:
            IoFailure: A file can't be read.
        """
    @property
    def progress(self) -> tuple[int, int]:
        """Bytes that were checked, and bytes that there are to check."""
    @property
    def findings(self) -> list[Finding]:
        """What was found so far, the first thousand."""
    @property
    def errors(self) -> int:
        """How many errors were found."""
    @property
    def notes(self) -> int:
        """How many notes were made."""

@final
class ConfigFile:
    """A file of JSON in a store's folder, as RocketMQ keeps them: the version before it stays beside it as `.bak`."""

    def __new__(cls, store: str | PathLike[str], name: str) -> Self:
        """The file `name` of the store in the folder `store`. It need not exist, and is not looked at.

        Raises:
            ValueError: The name is not that of a file.
        """

    @property
    def path(self) -> Path:
        """Where it is."""
    def load(self) -> str | None:
        """The text in strict JSON, whatever dialect the file has; `None` where there is none.

        Where the file is missing, empty or broken, its backup stands in.

        Raises:
            BadConfig: Something is there, and it is no JSON.
        """
    def save(self, text: str, /) -> None:
        """Replaces the text, durably; what was there becomes the backup. The store has to be open.

        Raises:
            BadConfig: The text is no JSON. The old text is still there.
        """

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

@final
class Request:
    """A request of a peer. It holds the memory it was received into, and its fields are read when asked for.

    Exactly one answer belongs to it, unless it is one-way; until it is answered or dropped, its bytes count as in
    flight.
    """

    @property
    def connection(self) -> int:
        """The connection it came by; no number is used twice."""
    @property
    def peer(self) -> str:
        """Address of the peer, as `address:port`."""
    @property
    def header_kind(self) -> Literal["json", "binary"]:
        """How the header was written; the answer is written the same way."""
    @property
    def code(self) -> int:
        """Request code."""
    @property
    def language(self) -> str:
        """What the peer is written in."""
    @property
    def version(self) -> int:
        """Ordinal of the peer's version."""
    @property
    def opaque(self) -> int:
        """Its number, which the answer repeats."""
    @property
    def flag(self) -> int:
        """Bit 1: one-way."""
    @property
    def is_one_way(self) -> bool:
        """Whether nobody waits for an answer."""
    @property
    def remark(self) -> str | None:
        """A note for people."""
    @property
    def ext_fields(self) -> dict[str, str]:
        """The fields of the request; made when first asked for, and the same dictionary from then on."""
    @property
    def body(self) -> memoryview:
        """The body, empty where there is none: read-only, not copied."""

@final
class Response:
    """What a peer answered to a request that `Server.send` sent."""

    @property
    def connection(self) -> int:
        """The connection it came by."""
    @property
    def peer(self) -> str:
        """Address of the peer, as `address:port`."""
    @property
    def header_kind(self) -> Literal["json", "binary"]:
        """How the header was written."""
    @property
    def code(self) -> int:
        """Response code."""
    @property
    def language(self) -> str:
        """What the peer is written in."""
    @property
    def version(self) -> int:
        """Ordinal of the peer's version."""
    @property
    def opaque(self) -> int:
        """Number of the request that it answers."""
    @property
    def flag(self) -> int:
        """Bit 0: a response."""
    @property
    def remark(self) -> str | None:
        """What went wrong, for people."""
    @property
    def ext_fields(self) -> dict[str, str]:
        """The fields of the response; made when first asked for, and the same dictionary from then on."""
    @property
    def body(self) -> memoryview:
        """The body, empty where there is none: read-only, not copied."""

@final
class ConnectionOpened:
    """A peer connected, or a connection that `Server.connect` began is there. Comes before anything that came by it."""

    @property
    def connection(self) -> int:
        """Its number."""
    @property
    def peer(self) -> str:
        """Address of the peer, as `address:port`."""
    @property
    def is_outgoing(self) -> bool:
        """Whether `Server.connect` began it."""

@final
class RequestWritten:
    """A request of ours has left: the kernel has taken its last byte. Whether the peer reads it is another question."""

    @property
    def connection(self) -> int:
        """The connection."""
    @property
    def opaque(self) -> int:
        """The number of the request."""

@final
class ConnectionClosed:
    """A connection is gone, or could not be made. Comes after everything that came by it, and once."""

    @property
    def connection(self) -> int:
        """Its number."""
    @property
    def peer(self) -> str:
        """Address of the peer, as `address:port`."""
    @property
    def reason(self) -> str:
        """Why, in one word.

        `peer`, `requested`, `idle`, `slow_frame`, `slow_reader`, `bad_frame`, `tls`, `failed`, `connect_failed` or
        `shutdown`.
        """

@final
class LogVisible:
    """The log is visible as far as `BrokerServer.tell_when_visible` asked for."""

    @property
    def end(self) -> int:
        """The log offset up to which messages are in their queues; in sync mode they are durable too."""

@final
class Answer:
    """What a request is answered with. Immutable."""

    RETRY: ClassVar[Answer]
    """To `BrokerServer.answer`: look again, since what was missing is there now. A `Server` answers SYSTEM_ERROR."""

    def __new__(
        cls,
        code: int,
        remark: str | None = None,
        *,
        ext_fields: Mapping[str, str] | None = None,
        body: Buffer | None = None,
        language: str = "JAVA",
        version: int = 513,
        after: int | None = None,
        late_code: int = 10,
        late_remark: str | None = None,
    ) -> Self:
        """Makes an answer; its number, flag and kind of header follow from the request.

        Args:
            code: Response code; 0 is success.
            remark: What went wrong, for people.
            ext_fields: The fields of the response.
            body: The body; `bytes` are not copied.
            language: What the server says it is written in; old Java clients refuse names they do not know.
            version: Ordinal of the version that the server says it is; 513 is 5.5.0.
            after: The log offset behind what was appended for the request: `Receipts.end_offset`. A `BrokerServer` over
                a store in sync mode sends the answer when the log is visible up to there, one in async mode at once; if
                the store stops before, SERVICE_NOT_AVAILABLE is sent. A `Server` has no log to wait for.
            late_code: The code if that takes longer than `flush_timeout_ms`; 10 is FLUSH_DISK_TIMEOUT. The fields stay,
                a body does not.
            late_remark: The remark then.
        """

    @property
    def code(self) -> int:
        """Response code."""
    @property
    def remark(self) -> str | None:
        """What went wrong, for people."""
    @property
    def ext_fields(self) -> dict[str, str]:
        """The fields of the response."""
    @property
    def body(self) -> bytes:
        """The body."""
    @property
    def language(self) -> str:
        """What the server says it is written in."""
    @property
    def version(self) -> int:
        """Ordinal of the version that the server says it is."""
    @property
    def after(self) -> int | None:
        """The log offset that it waits for."""
    @property
    def late_code(self) -> int:
        """The code if that takes too long."""
    @property
    def late_remark(self) -> str | None:
        """The remark then."""

@final
class ServerStatistics:
    """Numbers since the server was started, and what is there now."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def connections(self) -> int:
        """Connections that are open."""
    @property
    def connections_opened(self) -> int:
        """Connections that were opened, by peers and by us."""
    @property
    def connections_refused(self) -> int:
        """Connections that were closed at once, since there were too many."""
    @property
    def connections_closed(self) -> dict[str, int]:
        """Connections that were closed, by reason."""
    @property
    def frames_received(self) -> int:
        """Frames that were received."""
    @property
    def frames_sent(self) -> int:
        """Frames that were queued for peers."""
    @property
    def bytes_received(self) -> int:
        """Bytes that were received."""
    @property
    def bytes_sent(self) -> int:
        """Bytes that the system took for peers."""
    @property
    def bytes_in_flight(self) -> int:
        """Bytes that were received and are not answered, and answers that are not sent."""
    @property
    def requests_waiting(self) -> int:
        """Requests and other events that `next_batch` has not fetched."""
    @property
    def requests_refused(self) -> int:
        """Requests that were answered SYSTEM_BUSY, since the queue was full."""

@final
class Limits:
    """What peers may cost a server. Immutable."""

    def __new__(
        cls,
        *,
        connections_max: int = 16_384,
        connection_idle_s: float = 120.0,
        frame_size_max_bytes: int = 16_777_216,
        in_flight_max_bytes: int = 33_554_432,
        in_flight_total_max_bytes: int = 268_435_456,
        frame_timeout_s: float = 30.0,
        stall_timeout_s: float = 10.0,
        connect_timeout_s: float = 3.0,
        requests_max: int = 10_000,
        requests_max_bytes: int = 67_108_864,
        one_way_max: int = 10_000,
        one_way_max_bytes: int = 67_108_864,
    ) -> Self:
        """Makes limits; whether they contradict each other is seen when a server is started.

        Args:
            connections_max: Most connections at a time; further ones are closed at once.
            connection_idle_s: How long a connection may be silent.
            frame_size_max_bytes: Largest frame; a peer that announces more is closed.
            in_flight_max_bytes: Bytes of a connection that are unanswered or unsent. Above, it is not read.
            in_flight_total_max_bytes: The same of all connections together; above, each is read as far as its share of
                as much again.
            frame_timeout_s: How long a frame may take to arrive.
            stall_timeout_s: How long a peer may leave more than `in_flight_max_bytes` of answers unread.
            connect_timeout_s: How long `Server.connect` may take.
            requests_max: Most requests that wait for `Server.next_batch`; further ones are answered SYSTEM_BUSY. One
                connection may have a quarter of them, but at least 16.
            requests_max_bytes: The same in bytes.
            one_way_max: Most one-way requests that wait for `Server.next_batch`; above, their connections are not read.
            one_way_max_bytes: The same in bytes.

        Raises:
            ValueError: A time is none.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@disjoint_base
class Server:
    """Listens, cuts frames and sends answers on one thread of its own that never waits for Python.

    Use it as a context manager, so that it is closed in order. All methods may be called from any thread. In a process
    that was forked off, they raise `ServerClosed`: the server stays its parent's.
    """

    @staticmethod
    def start(listen: Sequence[str], *, limits: Limits | None = None) -> Server:
        """Listens and begins to serve.

        Args:
            listen: Addresses as `127.0.0.1:9876` or `[::1]:9876`; port 0 means any that is free. May be empty.
            limits: What peers may cost it; the defaults of `Limits`, unless given.

        Raises:
            ListenFailed: An address can't be listened on.
            ValueError: An address is none, or limits contradict each other.
        """
    @property
    def addresses(self) -> list[str]:
        """Where it listens, in the order of `listen`, with the ports that were free."""
    def next_batch(
        self, *, count_max: int = 256, timeout_s: float | None = None
    ) -> list[Request | Response | RequestWritten | ConnectionOpened | ConnectionClosed | LogVisible]:
        """Waits for events and fetches up to `count_max`, in the order in which they happened on each connection.

        Empty if none came within `timeout_s`; without it, waits until one comes. `LogVisible` is a broker's only.

        Raises:
            ServerClosed: The server was closed and everything was fetched.
        """
    def fileno(self) -> int:
        """A descriptor that is readable while events wait, for asyncio and selectors."""
    def answer(self, answers: Sequence[tuple[Request, Answer]]) -> None:
        """Answers requests. What belongs to closed connections and one-way requests is dropped.

        Raises:
            ValueError: A request was answered before; none of the batch is sent.
            BadFrame: An answer holds more than its kind of header can express; none of the batch is sent.
            ServerClosed: The server was closed.
        """
    def send(
        self,
        connection: int,
        code: int,
        *,
        ext_fields: Mapping[str, str] | None = None,
        body: Buffer | None = None,
        one_way: bool = True,
        opaque: int | None = None,
        remark: str | None = None,
        header_kind: Literal["json", "binary"] = "json",
        language: str = "JAVA",
        version: int = 513,
        tells_when_written: bool = False,
    ) -> int:
        """Sends a request to a peer, and returns its number, which the peer's `Response` repeats.

        To a connection that is gone nothing is sent: its `ConnectionClosed` was fetched or waits to be.

        Args:
            connection: The connection to send it by; one that is being made sends it when it is there.
            code: Request code.
            ext_fields: The fields of the request.
            body: The body; `bytes` are not copied.
            one_way: Whether no response is wanted.
            opaque: Its number; the next one of this server, unless given.
            remark: A note for people.
            header_kind: How to write the header.
            language: What the sender says it is written in.
            version: Ordinal of the version that the sender says it is.
            tells_when_written: Whether `next_batch` returns a `RequestWritten` when the kernel has taken all of it;
                there is none if the connection ends before.

        Raises:
            BadFrame: The header holds more than its kind can express.
            ServerClosed: The server was closed.
        """
    def connect(self, address: str) -> int:
        """Begins a connection to `address:port` and returns its number.

        `ConnectionOpened` follows, or `ConnectionClosed` with the reason `connect_failed`.

        Raises:
            ValueError: The address is none. Names are not looked up.
            ServerClosed: The server was closed.
        """
    def close_connection(self, connection: int) -> None:
        """Closes a connection when what is queued for it is sent. Nothing happens if it is gone."""
    def statistics(self) -> ServerStatistics:
        """Numbers since the start."""
    def close(self, *, timeout_s: float = 3.0) -> None:
        """Closes in order: no more connections and requests, queued answers are sent, then everything is closed.

        Whoever waits in `next_batch` gets what is left and then `ServerClosed`.
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
class OutgoingRequest:
    """A request of ours that may be sent to several servers in turn. Immutable."""

    def __new__(
        cls,
        code: int,
        *,
        ext_fields: Mapping[str, str] | None = None,
        body: Buffer | None = None,
        remark: str | None = None,
    ) -> Self:
        """Makes any request.

        Args:
            code: Request code.
            ext_fields: The fields of the request.
            body: The body; `bytes` are not copied.
            remark: A note for people.
        """

@final
class OutgoingMessage:
    """A message as a producer sends it, to whichever queue: with its id, and compressed if need be. Immutable."""

    def __new__(
        cls,
        message: Message,
        *,
        group: str,
        message_id: str,
        size_max_bytes: int,
        compress_from_bytes: int | None = None,
        compression: Literal["zlib", "lz4", "zstd"] = "zlib",
        compression_level: int = 5,
        template_topic: str = "TBW102",
        new_topic_queues: int = 4,
        properties: Mapping[str, str] | None = None,
        is_prepared: bool = False,
    ) -> Self:
        """Makes it.

        Args:
            message: The message.
            group: The producer group.
            message_id: Its id, if it has none of its own.
            size_max_bytes: Largest body, before it is compressed.
            compress_from_bytes: Bodies of this size and above are compressed.
            compression: How.
            compression_level: How hard zlib and zstd try.
            template_topic: The topic whose brokers make new topics.
            new_topic_queues: How many queues a new topic gets.
            properties: Further properties.
            is_prepared: Whether it is a half message, which is never for later.

        Raises:
            Unsendable: It is too large.
            ValueError: A property is empty or holds a byte that the format keeps for itself.
        """
    @staticmethod
    def batch(
        messages: Sequence[Message],
        *,
        group: str,
        message_ids: Sequence[str],
        size_max_bytes: int,
        template_topic: str = "TBW102",
        new_topic_queues: int = 4,
    ) -> OutgoingMessage:
        """Many messages of one topic in one request; the arguments are those of one message.

        Raises:
            Unsendable: They are too large.
            ValueError: There is none, or there are not as many ids.
        """
    @property
    def topic(self) -> str:
        """The topic."""
    @property
    def message_id(self) -> str:
        """Its id, the same for all tries; those of a batch with commas between them."""
    def request(self, queue_id: int, broker_name: str) -> OutgoingRequest:
        """The request that sends it to a queue."""

@final
class Replies:
    """Replies to the questions of one thread or event loop."""

    def __new__(cls) -> Self:
        """Makes an empty queue.

        Raises:
            OSError: The system refuses a descriptor.
        """
    def fileno(self) -> int:
        """A descriptor that is readable while replies wait."""
    def take(self) -> list[tuple[int, Response | str]]:
        """All that wait: the token of the question, and its answer or, in a word, why the connection has ended."""

@final
class Caller(Server):
    """A `Server` that listens nowhere and asks others. Whoever asks is woken by the thread that reads the answer.

    Answers to `ask` and `ask_into` are not in `next_batch`. Why a connection has ended is said in the words of
    `ConnectionClosed.reason`, or `ended` where it had before the question.
    """

    @staticmethod
    def start(*, limits: Limits | None = None) -> Caller:  # type: ignore[override]  # it listens nowhere
        """Begins; the limits are those of a `Server`.

        Raises:
            ValueError: Limits contradict each other.
        """
    def ask(self, connection: int, request: OutgoingRequest, timeout_s: float) -> Response | str | None:
        """Asks, and sleeps until the answer is there, the connection has ended, or the time is over, which is None.

        Other Python threads run meanwhile, and signals are seen to.

        Raises:
            BadFrame: The header holds more than its kind can express.
            ServerClosed: It was closed.
        """
    def ask_into(self, replies: Replies, token: int, connection: int, request: OutgoingRequest) -> int:
        """Asks, and has the reply put into a queue with a token; which number the question has.

        Raises:
            BadFrame: The header holds more than its kind can express.
            ServerClosed: It was closed.
        """
    def tell(self, connection: int, request: OutgoingRequest) -> None:
        """Sends a request that nobody answers.

        Raises:
            BadFrame: The header holds more than its kind can express.
            ServerClosed: It was closed.
        """
    def forget(self, number: int) -> bool:
        """Nobody waits for the reply to a question any more; whether anybody did."""

@final
class PropertyFilter:
    """A filter by the properties of messages, in RocketMQ's SQL92 dialect: FILTERS.md. Immutable, compiled once."""

    def __new__(cls, expression: str) -> Self:
        """Compiles an expression.

        Raises:
            BadFilter: It is none; the error says where, and what was expected there.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def matches(self, properties: Mapping[str, str] | bytes, /) -> bool:
        """Whether it wants a message with these properties: names and values, or a property string.

        What is unknown, or can't be compared, is not wanted.

        Raises:
            ValueError: A property is empty or holds a byte that the format keeps for itself.
        """
    @property
    def expression(self) -> str:
        """The text that it was compiled from."""
    @property
    def understood(self) -> str:
        """The expression with all its parentheses, and without what was ignored."""
    @property
    def ignored_from(self) -> tuple[int, int] | None:
        """Line and column from which on the text means nothing, as RocketMQ does not refuse it; mostly `None`."""

@final
class TopicEntry:
    """What the fast lane knows of a topic. Immutable."""

    def __new__(
        cls, *, read_queue_count: int, write_queue_count: int, permission: int, is_ordered: bool = False
    ) -> Self:
        """Describes a topic.

        Args:
            read_queue_count: Queues that may be pulled from.
            write_queue_count: Queues that sends are spread over.
            permission: Bit 2: readable. Bit 1: writable.
            is_ordered: Whether it is in the list of ordered topics, which a broker without permission refuses.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def read_queue_count(self) -> int:
        """Queues that may be pulled from."""
    @property
    def write_queue_count(self) -> int:
        """Queues that sends are spread over."""
    @property
    def permission(self) -> int:
        """Bit 2: readable. Bit 1: writable."""
    @property
    def is_ordered(self) -> bool:
        """Whether it is in the list of ordered topics."""

@final
class GroupEntry:
    """What the fast lane knows of a subscription group. Immutable."""

    def __new__(cls, *, is_consume_enabled: bool = True) -> Self:
        """Describes a group.

        Args:
            is_consume_enabled: Whether it may pull.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def is_consume_enabled(self) -> bool:
        """Whether it may pull."""

@final
class SubscriptionEntry:
    """What a group wants of a topic. Immutable."""

    def __new__(
        cls,
        *,
        version: int,
        expression_type: str = "TAG",
        codes: Iterable[int] | None = None,
        property_filter: PropertyFilter | None = None,
    ) -> Self:
        """Describes a subscription.

        Args:
            version: Its `subVersion`: a pull with a later one is answered SUBSCRIPTION_NOT_LATEST.
            expression_type: `TAG`; pulls of all other types are requests for Python, unless there is a filter.
            codes: Its `codeSet`, the hashes of its tags; `None` for all messages, which is `*`.
            property_filter: What it wants, by properties.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def version(self) -> int:
        """Its `subVersion`."""
    @property
    def expression_type(self) -> str:
        """Its type."""
    @property
    def codes(self) -> frozenset[int] | None:
        """The hashes of its tags; `None` for all messages."""

@final
class Traffic:
    """Messages, and bytes of their records. Immutable."""

    def __new__(cls, *, messages: int = 0, size_bytes: int = 0) -> Self:
        """Says how many and how large."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def messages(self) -> int:
        """How many messages."""
    @property
    def size_bytes(self) -> int:
        """How large their records are together, heads and properties included."""

@final
class FastLaneStatistics:
    """Numbers of the fast lane since the server was started, and what is there now."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @property
    def sends(self) -> int:
        """Send requests that were stored, batches counted once."""
    @property
    def messages_stored(self) -> int:
        """Messages that were stored, those of batches each."""
    @property
    def sends_refused(self) -> int:
        """Send requests that were answered with an error."""
    @property
    def sends_waiting(self) -> int:
        """Answers that wait for a flush: of stored sends, and of what Python stored."""
    @property
    def pulls(self) -> int:
        """Pull requests that were answered."""
    @property
    def pulls_found(self) -> int:
        """Those of them that were answered with messages."""
    @property
    def messages_pulled(self) -> int:
        """Messages in the answers to pulls."""
    @property
    def pulls_parked(self) -> int:
        """Pulls that wait for messages."""
    @property
    def cold_reads(self) -> int:
        """Pulls that the reader thread answered."""
    @property
    def offsets(self) -> int:
        """Requests about offsets that were answered."""
    @property
    def retries(self) -> int:
        """Requests that Python gave back with `Answer.RETRY`."""

@final
class BrokerServer(Server):
    """A `Server` that answers sends, pulls and offsets from a store itself, and leaves the rest to `next_batch`.

    It answers SEND_MESSAGE, SEND_MESSAGE_V2, SEND_BATCH_MESSAGE, PULL_MESSAGE, LITE_PULL_MESSAGE, GET_MAX_OFFSET,
    GET_MIN_OFFSET, QUERY_CONSUMER_OFFSET and UPDATE_CONSUMER_OFFSET without Python where `set_topics`, `set_groups` and
    `set_subscriptions` told it enough. To Python go, as any other request: sends to a topic that it was not told of, to
    `%RETRY%` topics and to system topics, of half messages, with a delay or a timer; pulls of a topic,
    group or subscription that it was not told of, or with a filter that is none; updates of offsets for such groups and
    topics.
    Whoever then tells it, answers `Answer.RETRY`, and the request takes the fast lane once more. A request that comes
    to Python was not changed and nothing of it was done.

    Use it as a context manager, inside that of its store.
    """

    @staticmethod
    def start(  # type: ignore[override]  # it is made with a store; nobody starts a server of a kind unknown
        store: Store,
        listen: Sequence[str],
        *,
        broker_name: str,
        cluster_name: str,
        region_id: str = "DefaultRegion",
        broker_address: str = "127.0.0.1",
        broker_permission: int = 6,
        asks_for_traces: bool = True,
        has_long_polling: bool = True,
        short_polling_ms: int = 1_000,
        parked_pulls_max: int = 100_000,
        pull_count_max: int = 32,
        pull_size_max_bytes: int = 262_144,
        hot_window_bytes: int = 33_554_432,
        has_property_filters: bool = True,
        flush_timeout_ms: int = 5_000,
        limits: Limits | None = None,
    ) -> BrokerServer:
        """Listens and begins to serve. Until it is told of topics, every request goes to Python.

        Args:
            store: The store that sends go into and pulls come from; it has one server in its life. Its `store_host` is
                the address in the ids of messages.
            listen: Addresses, as for `Server.start`.
            broker_name: Name of the broker.
            cluster_name: Its cluster, which stands in every message.
            region_id: Its region, which stands in every message.
            broker_address: Its address without port, for remarks.
            broker_permission: Bit 2: pulls are allowed. Bit 1: sends to ordered topics are allowed.
            asks_for_traces: Whether clients are told to trace.
            has_long_polling: Whether a pull that asks to wait does so as long as it asks.
            short_polling_ms: How long it waits otherwise.
            parked_pulls_max: Most pulls that wait; further ones are refused with POLLING_FULL. A connection may have as
                many as are left free.
            pull_count_max: Most messages in an answer.
            pull_size_max_bytes: Most bytes of messages in an answer, if there is more than one.
            hot_window_bytes: How far behind the end of the log messages are read without the reader thread.
            has_property_filters: Whether a pull may bring a filter by properties along.
            flush_timeout_ms: After this time a send that waits for its flush is answered FLUSH_DISK_TIMEOUT.
            limits: What peers may cost it; the defaults of `Limits`, unless given.

        Raises:
            ListenFailed: An address can't be listened on.
            StoreClosed: The store was closed, or is the parent process's.
            ValueError: An address is none, limits contradict each other, or the store has a server.
        """
    def set_topics(self, topics: Mapping[str, TopicEntry]) -> None:
        """Replaces what is known of topics."""
    def set_groups(self, groups: Mapping[str, GroupEntry]) -> None:
        """Replaces what is known of groups."""
    def set_subscriptions(self, subscriptions: Mapping[tuple[str, str], SubscriptionEntry]) -> None:
        """Replaces what is known of subscriptions, by group and topic."""
    def set_broker_permission(self, permission: int) -> None:
        """Changes what the broker allows."""
    def consumer_offset(self, group: str, topic: str, queue_id: int) -> int | None:
        """The queue offset that a group reads next, where it has committed one."""
    def consumer_offsets(self) -> dict[str, dict[int, int]]:
        """All consumer offsets by `topic@group` and queue."""
    def pulled_offsets(self) -> dict[str, dict[int, int]]:
        """How far groups have pulled since the start, by `topic@group` and queue."""
    def consumer_offsets_version(self) -> int:
        """Counts changes of consumer offsets: while it is the same, they are."""
    def load_consumer_offsets(self, offsets: Mapping[str, Mapping[int, int]]) -> None:
        """Replaces all consumer offsets, by `topic@group` and queue."""
    def commit_consumer_offset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Sets what a group reads next, forwards or back."""
    def reset_consumer_offset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Sets what a group reads next, and has its pull told so, the one that waits or the next.

        Until then its own commits are ignored.
        """
    def remove_consumer_offsets(self, *, group: str | None = None, topic: str | None = None) -> int:
        """Removes the offsets of a group, of a topic, or of a group in a topic; of how many groups and topics.

        Raises:
            ValueError: Neither is given.
        """
    def tell_when_visible(self, log_offset: int) -> None:
        """Has `next_batch` return a `LogVisible` when messages are in their queues up to a log offset.

        It returns at once. Several offsets that are reached together are told by one event.
        """
    def wake_pulls(self, topic: str, queue_id: int) -> None:
        """Looks again at the pulls that wait for a queue, as if a message had come."""
    def fast_lane_statistics(self) -> FastLaneStatistics:
        """Numbers of the fast lane since the start."""
    def traffic_in(self) -> dict[str, Traffic]:
        """What came in for each topic that is known, since the start or since it is known."""
    def traffic_out(self) -> dict[tuple[str, str], Traffic]:
        """What went out, by topic and group, since the start or since both are known.

        Pairs of which no message has gone out are not in it.
        """
    def count_in(self, topic: str, *, messages: int, size_bytes: int) -> None:
        """Adds messages that were appended without the fast lane to what came in for a topic.

        A topic that is not known is not counted.
        """
    def answer(self, answers: Sequence[tuple[Request, Answer]]) -> None:
        """Answers requests. What belongs to closed connections and one-way requests is dropped.

        `Answer.RETRY` gives a request back to the fast lane, once; if it misses something again, SYSTEM_ERROR follows.
        An answer with `after` is kept and sent when the log is there; nobody waits for it meanwhile.

        Raises:
            ValueError: A request was answered before; none of the batch is sent.
            BadFrame: An answer holds more than its kind of header can express; none of the batch is sent.
            ServerClosed: The server was closed.
        """
    def drop_next_answer(self, code: int) -> None:
        """Has the next request of this code carried out and not answered, once. For tests."""
    def abandon(self) -> None:
        """Closes as a kill would: what waits is not answered any more. For tests."""
    def close(self, *, timeout_s: float = 3.0) -> None:
        """Closes in order: sends are refused, what was stored is answered; then as a `Server` does.

        Whoever waits in `next_batch` gets what is left and then `ServerClosed`.
        """

@final
class NativeLog:
    """What the threads of stores and servers log, kept until somebody takes it. A process has one such log.

    Whoever logs never waits: of each level a hundred records a second are kept, and a thousand in all until they are
    taken. The others are counted.
    """

    def __new__(cls, level: Literal["debug", "info", "warning", "error"]) -> Self:
        """Keeps from now on what is at least as serious as a level. Who is made last decides the level.

        Raises:
            ValueError: There is no such level.
            OSError: The system refuses a descriptor.
        """

    def fileno(self) -> int:
        """A descriptor that is readable while records wait."""
    def take(self) -> tuple[list[tuple[Literal["debug", "info", "warning", "error"], str, dict[str, str]]], int]:
        """The records that wait, each as its level, what happened and the facts; and how many were not kept."""

def _measure_floor_s(bodies: Sequence[bytes], rounds: int) -> float:
    """Seconds that one copy and one CRC-32 of the bodies take, `rounds` times: the yardstick of bench/python."""

def read_decisions(requests: Sequence[object]) -> list[tuple[str, int, int, int, bool] | None]:
    """What each `Request` decides, where it is an END_TRANSACTION that reads plainly.

    Group, half offset, log offset, the number of the decision, and whether it was asked for.
    """

def topics_of_sends(requests: Sequence[object]) -> list[str | None]:
    """The topic of each `Request` that is a send."""
