"""A broker without sockets, files and fast lane: requests in, outcomes out, the clock in the test's hand."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from escrowmq import Message
from escrowmq.broker import processors
from escrowmq.broker.client_registry import ClientRegistry
from escrowmq.broker.context import Context
from escrowmq.broker.locks import QueueLocks
from escrowmq.broker.outcome import Outcome
from escrowmq.broker.subscriptions import SubscriptionGroups
from escrowmq.broker.topics import TopicRules, Topics
from escrowmq.errors import BadMessage, StoreError
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

    store_timestamp_ms: int


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

    def append(self, messages: Sequence[Message]) -> list[TestReceipt]:
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

    def queues(self) -> list[TestQueue]:
        return [TestQueue(topic, queue_id, 0, len(times)) for (topic, queue_id), times in self.times.items()]

    def iterate(self, topic: str, queue_id: int, offset: int = 0, *, count_max: int = 256) -> Iterator[TestRecord]:
        assert count_max > 0
        return iter([TestRecord(time) for time in self.times.get((topic, queue_id), [])[offset:]])

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
    """The offset table, as far as handlers change it."""

    __test__ = False

    removed: list[tuple[str | None, str | None]] = field(default_factory=list)

    def remove_consumer_offsets(self, *, group: str | None = None, topic: str | None = None) -> int:
        self.removed.append((group, topic))
        return 1


class Desk:
    """All of a broker's tables."""

    def __init__(
        self,
        *,
        topics: TextInMemory | None = None,
        groups: TextInMemory | None = None,
        has_auto_create: bool = True,
        store: TestStore | None = None,
    ) -> None:
        self.now_ms = 1_000
        self.topics_file = topics or TextInMemory()
        self.groups_file = groups or TextInMemory()
        self.offsets = TestOffsets()
        self.context = Context(
            broker_name="broker-a",
            topics=Topics(
                TopicRules(broker_name="broker-a", cluster="DefaultCluster", has_auto_create=has_auto_create),
                self.topics_file,
                now_ms=self.clock,
            ),
            groups=SubscriptionGroups(self.groups_file, now_ms=self.clock, has_auto_create=has_auto_create),
            clients=ClientRegistry(),
            locks=QueueLocks(),
            offsets=self.offsets,
            store=store or TestStore(),
            now_ms=self.clock,
        )

    def clock(self) -> int:
        return self.now_ms

    def outcome(self, code: int, fields: Mapping[str, str] | None = None, body: bytes = b"", **more: Any) -> Outcome:
        """What becomes of a request."""
        ((_, outcome),) = processors.process(self.context, [TestRequest(code, fields or {}, body, **more)])
        return outcome

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
