"""The room over a real store, without sockets: producers, time, and the moment of a crash are in the test's hand."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from escrowmq import _core
from escrowmq.protocol import properties
from escrowmq.transaction.asking import Asking
from escrowmq.transaction.checking import SLICE_PAUSE_MS, CheckBack
from escrowmq.transaction.counters import Counters
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.ending import Ending, Settled
from escrowmq.transaction.journal import Journal
from escrowmq.transaction.preparing import half_properties
from escrowmq.transaction.room import Room
from escrowmq.transaction.ruling import CheckRules, End
from escrowmq.transaction.topics import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from escrowmq.transaction.upkeep import write_missing_ops

INTERVAL_MS = 30_000
GROUP = "shop"
TOPIC = "orders"


class Crash(Exception):
    """The process is gone, between two writes."""


class CuttingLog:
    """The log of a process that may die while it appends: after so many records of the next batch."""

    def __init__(self, store: _core.Store) -> None:
        self._store = store
        self.records_before_crash: int | None = None
        self.batch_sizes: list[int] = []

    def append(self, messages: Sequence[_core.Message], *, uses_reserve: bool = False) -> list[_core.Receipt]:
        self.batch_sizes.append(len(messages))
        if self.records_before_crash is not None:
            self._store.append(messages[: self.records_before_crash], uses_reserve=uses_reserve)
            raise Crash
        return list(self._store.append(messages, uses_reserve=uses_reserve))


@dataclass(frozen=True)
class TestProducer:
    """A producer that is connected."""

    __test__ = False

    connection: int
    address: str


@dataclass(frozen=True)
class Asked:
    """A question that was sent."""

    connection: int
    unique_id: str
    half_offset: int
    log_offset: int
    body: bytes


class TestPeers:
    """Producers of `GROUP` that are connected, and what they were sent. What is sent leaves when a test says so."""

    __test__ = False

    def __init__(self) -> None:
        self.connected: list[TestProducer] = []
        self.asked: list[Asked] = []
        self.unwritten: list[tuple[int, int]] = []

    def producers(self, group: str) -> list[TestProducer] | None:
        return list(self.connected) if group == GROUP else None

    def send(
        self,
        connection: int,
        code: int,
        *,
        ext_fields: Mapping[str, str] | None = None,
        body: bytes | None = None,
        tells_when_written: bool = False,
    ) -> int:
        assert (code, tells_when_written) == (39, True)
        fields = ext_fields or {}
        assert fields["topic"] == HALF_TOPIC
        self.asked.append(
            Asked(
                connection,
                fields["transactionId"],
                int(fields["tranStateTableOffset"]),
                int(fields["commitLogOffset"]),
                body or b"",
            )
        )
        self.unwritten.append((connection, len(self.asked)))
        return len(self.asked)

    def tell_when_visible(self, log_offset: int) -> None:
        """A test waits for that itself."""


@dataclass(frozen=True)
class Place:
    """Where a copy of a half message is."""

    half_offset: int
    log_offset: int


@dataclass
class RoomDesk:
    """The room. `reopen` starts it again, as after a kill; `crash_after` has the next append stop half way."""

    folder: Path
    clock: _core.Clock = field(default_factory=_core.Clock)
    rules: CheckRules = field(default_factory=lambda: CheckRules(6_000, 3, 72 * 3_600_000))
    peers: TestPeers = field(default_factory=TestPeers)
    disk_refuse_ratio: float = 1.0
    body_size_max_bytes: int = 4 << 20
    make_topic: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        self.store = _core.Store.open(
            self.folder,
            flush="async",
            segment_size_bytes=1 << 20,
            queue_file_entries=1_000,
            index_slots=100,
            index_entries=400,
            disk_clean_ratio=1.0,
            disk_force_ratio=1.0,
            disk_refuse_ratio=self.disk_refuse_ratio,
            body_size_max_bytes=self.body_size_max_bytes,
            clock=self.clock,
        )
        self.log = CuttingLog(self.store)
        self.counters = Counters()
        self.index = _core.TransactionIndex.open(self.store)
        self.journal = Journal(
            self.log,
            self.index,
            next_half=self._end_of(HALF_TOPIC),
            next_op=self._end_of(OP_TOPIC),
            make_topic=self.make_topic,
        )
        self.journal.load(self.store.iterate(OP_TOPIC, 0))
        write_missing_ops(self.index, self.journal)
        self.ending = Ending(self.index, self.store, self.journal, self.counters)
        self.room = Room(self.index, self.store, self.journal, self.ending, self.counters)
        self.asking = Asking(
            self.index,
            self.store,
            producers=self.peers,
            peers=self.peers,
            counters=self.counters,
            broker_name="broker-a",
        )
        self.check_back = CheckBack(
            self.index,
            self.store,
            self.journal,
            self.asking,
            counters=self.counters,
            rules=lambda: self.rules,
            interval_ms=lambda: INTERVAL_MS,
            now_ms=self.clock.monotonic_ms,
            wall_ms=self.clock.wall_ms,
        )
        self.settle()

    def close(self) -> None:
        self.store.close()

    def reopen(self) -> None:
        self.store.abandon()
        for ticket in self.peers.unwritten:
            self.asking.closed(ticket[0])
        self.peers.unwritten.clear()
        self.open()

    def crash_after(self, records: int) -> None:
        self.log.records_before_crash = records

    def settle(self) -> None:
        """Waits until what was appended can be read."""
        self.store.wait_visible(self.store.log_end)

    def prepare(self, unique_id: str, *, body: bytes = b"body", **more: str) -> Place:
        """A half message as a producer sends it, and the broker stores it."""
        sent = {"TRAN_MSG": "true", "PGROUP": GROUP, "UNIQ_KEY": unique_id, **more}
        pairs = half_properties(sent, topic=TOPIC, queue_id=1)
        message = _core.Message(
            HALF_TOPIC, body, properties=properties.encode(pairs), born_host="10.0.0.1:7", born_timestamp_ms=1
        )
        (receipt,) = self.journal.append([message])
        self.settle()
        return Place(receipt.queue_offset, receipt.log_offset)

    def append_apaches(self, half: _core.Record, more: Mapping[str, str], *, count: int = 1) -> Place:
        """Half records as Apache's broker writes them, which the index reads when it is opened; where the last is."""
        copy = _core.Message.copy_of(half, properties=properties.encode({**half.properties, **more}))
        receipts = [receipt for _ in range(count) for receipt in self.store.append([copy])]
        self.settle()
        return Place(receipts[-1].queue_offset, receipts[-1].log_offset)

    def append_full(self, half: _core.Record) -> Place:
        """One like another, with the id `full`, whose properties leave no room for a counter."""
        room = 32_767 - len(properties.encode(half.properties))
        return self.append_apaches(half, {"UNIQ_KEY": "full", "note": "x" * (room - 20)})

    def end(self, place: Place, decision: Decision | None, *, group: str = GROUP) -> Settled:
        (settled,) = self.ending.end([an_end(place, decision, group=group)])
        self.settle()
        return settled

    def connect(self, connection: int = 1, address: str = "10.0.0.1:7") -> None:
        self.peers.connected.append(TestProducer(connection, address))

    def disconnect(self) -> None:
        """All producers are gone; what has not left them never will."""
        for producer in self.peers.connected:
            self.asking.closed(producer.connection)
        self.peers.connected.clear()
        self.peers.unwritten.clear()

    def round(self, *, after_ms: int = INTERVAL_MS, leaves: bool = True) -> list[Asked]:
        """A round of questions, and whether they leave; those that were sent."""
        before = len(self.peers.asked)
        self.clock.advance(after_ms)
        for _ in range(100):
            self.check_back.run()
            self.settle()
            self.clock.advance(SLICE_PAUSE_MS)
        if leaves:
            self.let_leave()
        return self.peers.asked[before:]

    def let_leave(self) -> None:
        """What was sent reaches the kernel."""
        for connection, opaque in self.peers.unwritten:
            self.asking.written(connection, opaque)
        self.peers.unwritten.clear()

    def delivered(self) -> list[str]:
        """The ids of the messages in the real queue, in order."""
        return [record.unique_id or "" for record in self.store.iterate(TOPIC, 1)]

    def discarded(self) -> list[str]:
        return [record.unique_id or "" for record in self.store.iterate(DISCARD_TOPIC, 0)]

    def pending(self) -> list[str]:
        return [transaction.unique_id for transaction in self.index.pending(count_max=10_000)]

    def _end_of(self, topic: str) -> int:
        queue = self.store.queue(topic, 0)
        return 0 if queue is None else queue.max_offset


def an_end(place: Place, decision: Decision | None, *, group: str = GROUP, who: str = "10.0.0.1:7") -> End:
    return End(group, place.half_offset, place.log_offset, decision, who)


def places(asked: Iterable[Asked]) -> list[Place]:
    return [Place(question.half_offset, question.log_offset) for question in asked]
