"""What the room needs from outside: the index, the log, records, and a way to producers. `app` supplies them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from escrowmq import _core

State: TypeAlias = Literal["pending", "committed", "rolled_back", "discarded", "closed"]


class Transaction(Protocol):
    """A transaction as the index knows it: `escrowmq._core.Transaction`, or a test's own."""

    @property
    def root_log_offset(self) -> int:
        """Where its first half record begins in the log."""

    @property
    def root_store_ms(self) -> int:
        """When that was appended."""

    @property
    def group(self) -> str:
        """The producer group that decides it."""

    @property
    def topic(self) -> str:
        """The topic that its message is for."""

    @property
    def queue_id(self) -> int:
        """The queue that its message is for."""

    @property
    def unique_id(self) -> str:
        """Its id, which its producer gave it."""

    @property
    def body_crc(self) -> int:
        """Checksum of the body."""

    @property
    def checks(self) -> int:
        """How often its producer was asked."""

    @property
    def is_asked(self) -> bool:
        """Whether the question for the newest copy has left, since the start."""

    @property
    def state(self) -> State:
        """What became of it."""

    @property
    def half_offset(self) -> int:
        """Queue offset of its newest copy."""

    @property
    def log_offset(self) -> int:
        """Log offset of its newest copy."""

    @property
    def store_ms(self) -> int:
        """When its newest copy was appended."""

    @property
    def live_half_offsets(self) -> list[int]:
        """Queue offsets of the copies that no op record names."""

    @property
    def decided_ms(self) -> int | None:
        """When it was decided."""

    @property
    def decided_by(self) -> str | None:
        """Who decided it, where a record says."""

    @property
    def final_log_offset(self) -> int | None:
        """Log offset of its message, if it was committed."""

    @property
    def decision_end(self) -> int:
        """The log offset behind the records of its decision."""


class Index(Protocol):
    """All transactions: `escrowmq._core.TransactionIndex`, or a test's own."""

    def note(self, messages: Sequence[_core.Message], receipts: Sequence[_core.Receipt], /) -> None:
        """Takes notice of what was appended."""

    def find(self, places: Sequence[tuple[int, int]], /) -> Sequence[Transaction | None]:
        """By queue offset and log offset of any copy."""

    def are_new(self, prepares: Sequence[_core.Prepare], /) -> Sequence[bool]:
        """Whether there is no undecided one of the group with the id, and none before it in the list."""

    def find_undecided(self, group: str, unique_id: str, /) -> Transaction | None:
        """The newest that is undecided."""

    def pending(
        self, *, group: str | None = None, from_half: int = 0, to_half: int | None = None, count_max: int = 256
    ) -> Sequence[Transaction]:
        """Undecided ones by the queue offset of their newest copy."""

    def pending_by_group(self) -> Mapping[str, int]:
        """How many are undecided, by group."""

    def pending_by_topic(self) -> Mapping[str, int]:
        """How many are undecided, by the topic that their message is for."""

    def decided(self, *, count_max: int = 256) -> Sequence[Transaction]:
        """Decided ones, the last decision first."""

    def unmarked(self, *, count_max: int = 256) -> Sequence[Transaction]:
        """Decided ones with copies that no op record names."""

    def live_before(self, log_offset: int, /, *, count_max: int = 256) -> Sequence[Transaction]:
        """Undecided ones with a copy before a log offset that no op record names."""

    def mark_asked(self, half_offsets: Sequence[int], /) -> None:
        """Notes that the questions for these copies have left."""

    @property
    def end(self) -> int:
        """The log offset up to which it has seen everything."""

    @property
    def pending_count(self) -> int:
        """How many are undecided."""

    @property
    def decided_count(self) -> int:
        """How many decided ones are listed."""

    @property
    def first_live_half_offset(self) -> int | None:
        """The first copy of an undecided one that no op record names."""

    @property
    def first_live_log_offset(self) -> int | None:
        """Where that begins in the log."""

    @property
    def oldest_root_store_ms(self) -> int | None:
        """When the oldest that is undecided was prepared."""


class Records(Protocol):
    """What can be read: `escrowmq._core.Store`, or a test's own."""

    def record_at(self, log_offset: int) -> _core.Record:
        """The record that begins at a log offset.

        Raises:
            NoRecord: None begins there, or none is any more, or none is yet.
        """

    def read(self, topic: str, queue_id: int, offset: int, *, count_max: int = 32) -> Sequence[_core.Record]:
        """Records of a queue from a queue offset on; none at or past its end."""

    def find_by_key(self, topic: str, key: str, *, count_max: int = 32) -> Sequence[_core.Record]:
        """Records of a topic with a key, newest first."""


class Log(Protocol):
    """Where records go: `escrowmq.broker.counted_log.CountedLog`, or a test's own."""

    def append(self, messages: Sequence[_core.Message], *, uses_reserve: bool = False) -> Sequence[_core.Receipt]:
        """Appends all messages or none, without waiting for the disk; on a disk that is too full, from its reserve."""


class Waiting(Struct, frozen=True):
    """Where a message waits for its time, and with which properties."""

    topic: str
    queue_id: int
    properties: dict[str, str]


class Later(Protocol):
    """Who delivers committed messages that are for later: `escrowmq.broker.later_commits.LaterCommits`."""

    def waiting(self, half: _core.Record, *, topic: str, queue_id: int) -> Waiting | None:
        """Where the message of a half message waits; None where its time has come."""

    def appended(self, waiting: Waiting, receipt: _core.Receipt) -> None:
        """Takes notice of a message that waits from now on."""


class Appended(Protocol):
    """Where a record went: `escrowmq._core.Receipt`, or a test's own."""

    @property
    def log_offset(self) -> int:
        """Where it begins in the log."""

    @property
    def queue_offset(self) -> int:
        """Its place in its queue."""

    @property
    def end_offset(self) -> int:
        """Where it ends in the log."""


class Producer(Protocol):
    """A producer that is connected."""

    @property
    def connection(self) -> int:
        """Its connection."""

    @property
    def address(self) -> str:
        """Its address, as `address:port`."""


class Producers(Protocol):
    """Who is connected: `escrowmq.broker.client_registry.ClientRegistry`, or a test's own."""

    def producers(self, group: str) -> Iterable[Producer] | None:
        """The producers of a group; None where there is none."""
