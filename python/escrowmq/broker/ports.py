"""What the broker's rooms need from outside: files, a way to peers, the log and the fast lane. `app` supplies them."""

import builtins
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol

from escrowmq import _core
from escrowmq.broker.traffic_statistics import Amounts
from escrowmq.protocol.bodies.delay_offsets import DelayOffsets
from escrowmq.protocol.messages import Request


class ClientRequest(Request, Protocol):
    """A request of a client that says what it is written in."""

    @property
    def language(self) -> str:
        """What the peer is written in."""


class TextFile(Protocol):
    """A small file of JSON that is replaced whole: `escrowmq._core.ConfigFile`, or a test's own."""

    def load(self) -> str | None:
        """The text, in strict JSON; None where there is no file."""

    def save(self, text: str, /) -> None:
        """Replaces the text, durably."""


class Peers(Protocol):
    """The way to whoever is connected: `escrowmq._core.BrokerServer`, or a test's own."""

    def send(
        self,
        connection: int,
        code: int,
        *,
        ext_fields: Mapping[str, str] | None = None,
        body: bytes | None = None,
        one_way: bool = True,
    ) -> int:
        """Sends a request and returns its number, which the response repeats."""

    def connect(self, address: str) -> int:
        """Begins a connection and returns its number."""


class OffsetTable(Protocol):
    """What groups read next, which the fast lane keeps: `escrowmq._core.BrokerServer`, or a test's own."""

    def consumer_offset(self, group: str, topic: str, queue_id: int) -> int | None:
        """The queue offset that a group reads next, where it has committed one."""

    def consumer_offsets(self) -> Mapping[str, Mapping[int, int]]:
        """All offsets by `topic@group` and queue."""

    def pulled_offsets(self) -> Mapping[str, Mapping[int, int]]:
        """How far groups have pulled since the start, by `topic@group` and queue."""

    def commit_consumer_offset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Sets what a group reads next, forwards or back."""

    def reset_consumer_offset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Sets what a group reads next, and has its pull told so."""

    def remove_consumer_offsets(self, *, group: str | None = None, topic: str | None = None) -> int:
        """Removes the offsets of a group, of a topic, or of a group in a topic."""


class StoredRecord(Protocol):
    """A message that was read: `escrowmq._core.Record`, or a test's own."""

    @property
    def topic(self) -> str:
        """The topic."""

    @property
    def body(self) -> memoryview | bytes:
        """The body as stored, compressed or not."""

    @property
    def properties(self) -> dict[str, str]:
        """All properties."""

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
    def store_timestamp_ms(self) -> int:
        """When it was appended."""

    @property
    def reconsume_times(self) -> int:
        """How often consumers gave it back."""

    @property
    def offset_message_id(self) -> str:
        """The id that says where it is."""

    @property
    def bytes(self) -> memoryview | builtins.bytes:
        """The whole record as stored."""


class AppendedMessage(Protocol):
    """Where a message went: `escrowmq._core.Receipt`, or a test's own."""

    @property
    def log_offset(self) -> int:
        """Where its record begins in the log."""

    @property
    def queue_offset(self) -> int:
        """Its place in its queue."""

    @property
    def store_timestamp_ms(self) -> int:
        """When it was appended."""

    @property
    def end_offset(self) -> int:
        """Where its record ends in the log: it is durable when the log is up to here."""


class Log(Protocol):
    """Where messages go: `counted_log.CountedLog`, or a test's own."""

    def append(self, messages: Sequence[_core.Message]) -> Iterable[AppendedMessage]:
        """Appends all messages or none, without waiting for the disk."""


class StoredQueue(Protocol):
    """A queue and the offsets that it holds."""

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


class MessageStore(Protocol):
    """What handlers read of the store, and have it clean: `escrowmq._core.Store`, or a test's own."""

    def queues(self) -> Sequence[StoredQueue]:
        """All queues."""

    def delete_topics(self, topics: Sequence[str]) -> int:
        """Deletes topics with their queues, durably.

        Raises:
            TopicInUse: Messages are appended to one of them all the time.
        """

    def expire_soon(self) -> None:
        """Has old log files go whatever the hour. Does not wait for them."""

    def expire_queues(self) -> None:
        """Removes files of queues and of the key index that hold nothing of the log any more."""

    def queue(self, topic: str, queue_id: int) -> StoredQueue | None:
        """A queue, where there is one."""

    def read(self, topic: str, queue_id: int, offset: int, *, count_max: int = 32) -> Sequence[StoredRecord]:
        """Messages of a queue from an offset on; none at or past its end."""

    def record_at(self, log_offset: int) -> StoredRecord:
        """The message that begins at a log offset.

        Raises:
            NoRecord: None begins there, or none is any more, or none is yet.
        """

    def find_by_key(
        self, topic: str, key: str, *, count_max: int = 32, begin_ms: int = 0, end_ms: int | None = None
    ) -> Sequence[StoredRecord]:
        """Messages of a topic with a key, stored between two times, newest first."""

    def key_index_end(self) -> tuple[int, int] | None:
        """The log offset and the store time of the last message in the key index."""

    def offset_by_time(
        self, topic: str, queue_id: int, timestamp_ms: int, *, boundary: Literal["lower", "upper"] = "lower"
    ) -> int | None:
        """The queue offset of a time; None where there is no such queue."""


class DelayedMessages(Protocol):
    """Who delivers messages when their time has come: `delivery.delayed.DelayedDelivery`, or a test's own."""

    def postponed(self, level: int, message: AppendedMessage) -> None:
        """Takes notice of a message that was appended to the queue of a level."""

    def offsets(self) -> DelayOffsets:
        """How far each level is delivered."""


class Statistics(Protocol):
    """What came and went lately, and how the broker is: `statistics.Statistics`, or a test's own."""

    def find(self, name: str, key: str) -> Amounts | None:
        """How much there was of something lately; None where there never was any."""

    def put_per_s(self, topic: str) -> float:
        """Messages that came in for a topic each second of the last minute."""

    def got_per_s(self, group: str, topic: str) -> float:
        """Messages of a topic that went out to a group each second of the last minute."""

    def runtime_info(self) -> Mapping[str, str]:
        """How the broker is, under RocketMQ's keys."""


class TimedMessages(Protocol):
    """Who delivers messages at a time of their own: `escrowmq._core.Timers`, or a test's own."""

    def appended(self, end_offset: int) -> None:
        """Takes notice of a message that was appended to the timer topic."""

    def count_at(self, time_ms: int) -> int:
        """How many messages wait in the slot of a time."""

    def checkpoint(self) -> bytes:
        """How far they are, as replicas ask for it."""

    def metrics(self) -> str:
        """How many messages wait for each topic, as JSON."""

    @property
    def broken_by(self) -> str | None:
        """Why they stand still until the store is opened again; None while they run."""


class LogMarks(Protocol):
    """How far the log has come: `escrowmq._core.Store`, or a test's own."""

    @property
    def durable_end(self) -> int:
        """The log offset up to which the log is on disk."""

    @property
    def visible_end(self) -> int:
        """The log offset up to which messages are in their queues."""


class LogWatch(Protocol):
    """Who wakes us when the log has come far enough: `escrowmq._core.BrokerServer`, or a test's own."""

    def tell_when_visible(self, log_offset: int) -> None:
        """Wakes it when messages are in their queues up to a log offset; does not wait for that."""


class QueueEntry(Protocol):
    """An entry of a queue: `escrowmq._core.QueueEntry`, or a test's own."""

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
        """Hash of the record's tags; in the schedule topic, when it is to be delivered."""


class ScheduleStore(LogMarks, Protocol):
    """What delivery reads of the store: `escrowmq._core.Store`, or a test's own."""

    def queue(self, topic: str, queue_id: int) -> StoredQueue | None:
        """A queue, where there is one."""

    def entries(self, topic: str, queue_id: int, offset: int, *, count_max: int = 256) -> Sequence[QueueEntry]:
        """Entries of a queue from a queue offset on, or from the first that is still there."""

    def read(
        self, topic: str, queue_id: int, offset: int, *, count_max: int = 32, size_max_bytes: int = 4_194_304
    ) -> Sequence[_core.Record]:
        """Records of a queue from a queue offset on."""
