"""A broker without sockets, files and fast lane: requests in, outcomes out, the clock in the test's hand."""

import builtins
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.unit.transaction.room_desk import RoomDesk

from escrowmq import Message
from escrowmq._core import GroupEntry, SubscriptionEntry, TopicEntry
from escrowmq.broker import processors
from escrowmq.broker.client_registry import ClientRegistry
from escrowmq.broker.consumer_filters import ConsumerFilters
from escrowmq.broker.context import Context
from escrowmq.broker.delivery.levels import DelayLevels
from escrowmq.broker.locks import QueueLocks
from escrowmq.broker.outcome import Outcome, WhenDurable
from escrowmq.broker.ports import AppendedMessage, MessageStore
from escrowmq.broker.settings import Settings
from escrowmq.broker.snapshot import Snapshots
from escrowmq.broker.stamp import Stamp
from escrowmq.broker.subscriptions import SubscriptionGroups
from escrowmq.broker.topics import TopicRules, Topics
from escrowmq.broker.traffic_statistics import Amounts
from escrowmq.broker_config import BrokerConfig, StoreConfig
from escrowmq.errors import BadMessage, NoRecord, StoreError
from escrowmq.model.data_version import DataVersion
from escrowmq.protocol.bodies.delay_offsets import DelayOffsets
from escrowmq.protocol.messages import Answer


class TextInMemory:
    """A file: on a disk that can be full."""

    def __init__(self, text: str | None = None) -> None:
        self.text = text
        self.is_full = False
        self.saves = 0

    def load(self) -> str | None:
        return self.text

    def save(self, text: str, /) -> None:
        if self.is_full:
            raise OSError(28, "No space left on device")
        self.text = text
        self.saves += 1

    @property
    def value(self) -> Any:
        """What it holds."""
        return json.loads(self.text or "null")


@dataclass(frozen=True)
class TestRequest:
    """A request as handlers see it."""

    __test__ = False

    code: int
    ext_fields: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    version: int = 513
    connection: int = 1
    peer: str = "127.0.0.1:40000"
    language: str = "JAVA"


@dataclass(frozen=True)
class TestRecord:
    """A message as far as handlers look at it."""

    __test__ = False

    store_timestamp_ms: int = 0
    topic: str = "orders"
    body: builtins.bytes = b"body"
    properties: dict[str, str] = field(default_factory=dict)
    flag: int = 0
    sys_flag: int = 0
    born_timestamp_ms: int = 0
    born_host: str = "127.0.0.1:40000"
    reconsume_times: int = 0
    offset_message_id: str = "7F00000100002A9F0000000000000000"
    bytes: builtins.bytes = b""


@dataclass(frozen=True)
class TestReceipt:
    """Where a message went; every record is as long as its body."""

    __test__ = False

    log_offset: int
    queue_offset: int
    store_timestamp_ms: int
    end_offset: int


@dataclass(frozen=True)
class TestQueue:
    """A queue as far as handlers look at it."""

    __test__ = False

    topic: str
    queue_id: int
    min_offset: int
    max_offset: int


class TestStore:
    """Store times by topic and queue, and what is appended; a body `bad` is refused."""

    __test__ = False

    def __init__(self, times: Mapping[tuple[str, int], Sequence[int]] | None = None) -> None:
        self.times = {queue: list(stored) for queue, stored in (times or {}).items()}
        self.batches: list[list[Message]] = []
        self.failure: StoreError | None = None
        self.now_ms = 1_000
        self.log_end = 0
        # Records by log offset, those that every key finds, and what was searched for.
        self.records: dict[int, TestRecord] = {}
        self.found: list[bytes] = []
        self.searches: list[tuple[str, str, int, int, int | None]] = []
        # How often it was cleaned, and how.
        self.cleanings: list[str] = []
        self.before_deletion: Callable[[], None] = lambda: None

    def append(self, messages: Sequence[Message], **_: bool) -> list[TestReceipt]:
        if self.failure is not None:
            raise self.failure
        for index, message in enumerate(messages):
            if message.body == b"bad":
                raise BadMessage("a bad body", index=index)
        self.batches.append(list(messages))
        return [self._append(message) for message in messages]

    def _append(self, message: Message) -> TestReceipt:
        queue = self.times.setdefault((message.topic, message.queue_id), [])
        queue.append(self.now_ms)
        begin, self.log_end = self.log_end, self.log_end + len(message.body)
        return TestReceipt(begin, len(queue) - 1, self.now_ms, self.log_end)

    @property
    def appended(self) -> list[Message]:
        """All messages that were appended."""
        return [message for batch in self.batches for message in batch]

    def queues(self) -> list[TestQueue]:
        return [TestQueue(topic, queue_id, 0, len(times)) for (topic, queue_id), times in self.times.items()]

    def delete_topics(self, topics: Sequence[str]) -> int:
        if self.failure is not None:
            raise self.failure
        self.before_deletion()
        gone = [queue for queue in self.times if queue[0] in topics]
        for queue in gone:
            del self.times[queue]
        return len(gone)

    def expire_soon(self) -> None:
        self.cleanings.append("log")

    def expire_queues(self) -> None:
        self.cleanings.append("queues")

    def queue(self, topic: str, queue_id: int) -> TestQueue | None:
        times = self.times.get((topic, queue_id))
        return None if times is None else TestQueue(topic, queue_id, 0, len(times))

    def read(self, topic: str, queue_id: int, offset: int, *, count_max: int = 32) -> list[TestRecord]:
        times = self.times.get((topic, queue_id), [])
        return [TestRecord(time) for time in times[offset : offset + count_max]]

    def record_at(self, log_offset: int) -> TestRecord:
        if log_offset not in self.records:
            raise NoRecord(f"no record at {log_offset}")
        return self.records[log_offset]

    def find_by_key(
        self, topic: str, key: str, *, count_max: int = 32, begin_ms: int = 0, end_ms: int | None = None
    ) -> list[TestRecord]:
        self.searches.append((topic, key, count_max, begin_ms, end_ms))
        return [TestRecord(bytes=record) for record in self.found[:count_max]]

    def key_index_end(self) -> tuple[int, int] | None:
        return (9, 1_000) if self.found else None

    def offset_by_time(
        self, topic: str, queue_id: int, timestamp_ms: int, *, boundary: Literal["lower", "upper"] = "lower"
    ) -> int | None:
        times = self.times.get((topic, queue_id))
        if times is None:
            return None
        before = sum(time < timestamp_ms for time in times)
        return before if boundary == "lower" else max(0, sum(time <= timestamp_ms for time in times) - 1)


@dataclass
class TestOffsets:
    """The offset table, by `topic@group` and queue, and what was done to it."""

    __test__ = False

    committed: dict[str, dict[int, int]] = field(default_factory=dict)
    pulled: dict[str, dict[int, int]] = field(default_factory=dict)
    resets: list[tuple[str, str, int, int]] = field(default_factory=list)
    removed: list[tuple[str | None, str | None]] = field(default_factory=list)

    def consumer_offset(self, group: str, topic: str, queue_id: int) -> int | None:
        return self.committed.get(f"{topic}@{group}", {}).get(queue_id)

    def consumer_offsets(self) -> dict[str, dict[int, int]]:
        return {key: dict(queues) for key, queues in self.committed.items()}

    def pulled_offsets(self) -> dict[str, dict[int, int]]:
        return self.pulled

    def commit_consumer_offset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        self.committed.setdefault(f"{topic}@{group}", {})[queue_id] = offset

    def reset_consumer_offset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        self.resets.append((group, topic, queue_id, offset))
        self.commit_consumer_offset(group, topic, queue_id, offset)

    def remove_consumer_offsets(self, *, group: str | None = None, topic: str | None = None) -> int:
        self.removed.append((group, topic))
        pairs = {key: key.partition("@") for key in self.committed}
        gone = [key for key, (of, _, by) in pairs.items() if group in (None, by) and topic in (None, of)]
        for key in gone:
            del self.committed[key]
        return len(gone)


@dataclass
class TestFastLane:
    """What it was told last, and how often."""

    __test__ = False

    topics: Mapping[str, TopicEntry] = field(default_factory=dict)
    groups: Mapping[str, GroupEntry] = field(default_factory=dict)
    subscriptions: Mapping[tuple[str, str], SubscriptionEntry] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    def set_topics(self, topics: Mapping[str, TopicEntry]) -> None:
        self.topics = topics
        self.told.append("topics")

    def set_groups(self, groups: Mapping[str, GroupEntry]) -> None:
        self.groups = groups
        self.told.append("groups")

    def set_subscriptions(self, subscriptions: Mapping[tuple[str, str], SubscriptionEntry]) -> None:
        self.subscriptions = subscriptions
        self.told.append("subscriptions")


@dataclass
class TestDelayed:
    """What was postponed, by level."""

    __test__ = False

    noticed: list[tuple[int, int]] = field(default_factory=list)

    def postponed(self, level: int, message: AppendedMessage) -> None:
        self.noticed.append((level, message.end_offset))

    def offsets(self) -> DelayOffsets:
        return DelayOffsets(offsets={1: 7, 3: 2})


@dataclass
class TestTimers:
    """What was appended to the timer topic, and how many messages wait in every slot."""

    __test__ = False

    noticed: list[int] = field(default_factory=list)
    waiting: int = 0
    broken_by: str | None = None

    def appended(self, end_offset: int) -> None:
        self.noticed.append(end_offset)

    def count_at(self, time_ms: int) -> int:
        assert time_ms % 1_000 == 0
        return self.waiting

    def checkpoint(self) -> bytes:
        return bytes(56)

    def metrics(self) -> str:
        return '{"timingCount":{}}'


@dataclass
class TestStatistics:
    """What is said to have come and gone, by name and key."""

    __test__ = False

    amounts: dict[tuple[str, str], Amounts] = field(default_factory=dict)

    def find(self, name: str, key: str) -> Amounts | None:
        return self.amounts.get((name, key))

    def put_per_s(self, topic: str) -> float:
        found = self.find("TOPIC_PUT_NUMS", topic)
        return 0.0 if found is None else found.minute.per_s

    def got_per_s(self, group: str, topic: str) -> float:
        found = self.find("GROUP_GET_NUMS", f"{topic}@{group}")
        return 0.0 if found is None else found.minute.per_s

    def runtime_info(self) -> dict[str, str]:
        return {"brokerActive": "true"}


class Desk:
    """All of a broker's tables."""

    def __init__(
        self,
        *,
        topics: TextInMemory | None = None,
        groups: TextInMemory | None = None,
        filters: TextInMemory | None = None,
        has_auto_create: bool = True,
        store: MessageStore | None = None,
        config: BrokerConfig | None = None,
        room: RoomDesk | None = None,
    ) -> None:
        self.now_ms = 1_000
        self.store = store if isinstance(store, TestStore) else TestStore()
        self.delayed = TestDelayed()
        self.timers = TestTimers()
        self.statistics = TestStatistics()
        self.topics_file = topics or TextInMemory()
        self.groups_file = groups or TextInMemory()
        self.filters_file = filters or TextInMemory()
        self.settings_file = TextInMemory()
        self.offsets = TestOffsets()
        # Only transactions need one, and tests of them bring it.
        transactions: Any = None if room is None else room.room
        self.offsets_saved: list[dict[str, dict[int, int]]] = []
        self.fast_lane = TestFastLane()
        tables = (
            Topics(
                TopicRules(broker_name="broker-a", cluster="DefaultCluster", has_auto_create=has_auto_create),
                self.topics_file,
                now_ms=self.clock,
            ),
            SubscriptionGroups(self.groups_file, now_ms=self.clock, has_auto_create=has_auto_create),
            ClientRegistry(),
            ConsumerFilters(self.filters_file, now_ms=self.clock),
        )
        self.context = Context(
            broker_name="broker-a",
            address="127.0.0.1:10911",
            settings=Settings(config or BrokerConfig(), StoreConfig(), self.settings_file, now_ms=self.clock),
            stamp=Stamp(
                region="DefaultRegion",
                cluster="DefaultCluster",
                asks_for_traces=True,
                store_host="127.0.0.1:10911",
                wall_ms=self.clock,
            ),
            levels=DelayLevels.parse(BrokerConfig().delay_levels),
            topics=tables[0],
            groups=tables[1],
            clients=tables[2],
            filters=tables[3],
            snapshots=Snapshots(*tables),
            fast_lane=self.fast_lane,
            locks=QueueLocks(),
            offsets=self.offsets,
            store=store or self.store,
            log=self.store if room is None else room.journal,
            delayed=self.delayed,
            statistics=self.statistics,
            timers=self.timers,
            transactions=transactions,
            now_ms=self.clock,
            wall_ms=self.clock if room is None else room.clock.wall_ms,
            log_end=lambda: self.store.log_end if room is None else room.store.log_end,
            offsets_version=lambda: DataVersion(counter=7),
            save_offsets=lambda: self.offsets_saved.append(self.offsets.consumer_offsets()),
        )

    def clock(self) -> int:
        return self.now_ms

    def outcome(self, code: int, fields: Mapping[str, str] | None = None, body: bytes = b"", **more: Any) -> Outcome:
        """What becomes of a request."""
        ((_, outcome),) = processors.process(self.context, [TestRequest(code, fields or {}, body, **more)])
        return outcome

    def stored(self, code: int, fields: Mapping[str, str], body: bytes = b"body", **more: Any) -> Answer:
        """The answer to a request that appends, when what it appended is durable."""
        outcome = self.outcome(code, fields, body, **more)
        assert isinstance(outcome, WhenDurable), outcome
        assert outcome.end_offset == self.store.log_end
        return outcome.answer

    def ask(self, code: int, fields: Mapping[str, str] | None = None, body: bytes = b"", **more: Any) -> Answer:
        """The answer to a request."""
        outcome = self.outcome(code, fields, body, **more)
        assert isinstance(outcome, Answer)
        return outcome

    def told(self) -> set[str]:
        """The groups whose members have to be told of a change, once."""
        told = set(self.context.groups_to_tell)
        self.context.groups_to_tell.clear()
        return told


def heartbeat(
    client_id: str = "client-1",
    group: str = "billing",
    topics: Mapping[str, Sequence[int]] | None = None,
    *,
    version: int = 1,
    model: str = "CLUSTERING",
    **more: Any,
) -> bytes:
    """The body of a consumer's heartbeat; `topics` has the codes of tags, none for all messages."""
    subscriptions = [
        {"topic": topic, "subString": "a || b" if codes else "*", "codeSet": list(codes), "subVersion": version}
        for topic, codes in ({"orders": ()} if topics is None else topics).items()
    ]
    consumer = {
        "groupName": group,
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": model,
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
        "subscriptionDataSet": subscriptions,
        "unitMode": False,
    }
    return json.dumps({"clientID": client_id, "consumerDataSet": [consumer], "producerDataSet": [], **more}).encode()


def send(topic: str, **more: str) -> dict[str, str]:
    """Fields of SEND_MESSAGE_V2."""
    return {
        "a": "producers",
        "b": topic,
        "c": "TBW102",
        "d": "4",
        "e": "0",
        "f": "0",
        "g": "1794984736583",
        "h": "0",
        "i": "KEYS\x01k\x02",
        "j": "0",
        **more,
    }
