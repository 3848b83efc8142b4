"""The store against plain lists: whatever is appended, flushed, read, expired, crashed and reopened, both agree.

A crash is a copy of the folder as SIGKILL would leave it: whatever was written is in the page cache and survives, the
files are not closed. The log or everything else is copied first, so that queues run ahead of the log or behind it.
"""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.opening import EXPIRE_NOW, every_record, open_small

from escrowmq import Message, Record, Store

TOPICS = ["orders", "payments", "%RETRY%group"]
KEYS = ["a", "b", "c"]

messages = st.builds(
    Message,
    st.sampled_from(TOPICS),
    st.binary(max_size=40) | st.integers(0, 4_000).map(bytes),
    queue_id=st.integers(0, 2),
    keys=st.none() | st.lists(st.sampled_from(KEYS), min_size=1, unique=True),
    properties=st.none() | st.dictionaries(st.sampled_from(["x", "y"]), st.text("abcé", min_size=1), max_size=2),
    flag=st.integers(-(2**31), 2**31 - 1),
)


@dataclass(frozen=True)
class Stored:
    """What the model knows of a message."""

    message: Message
    log_offset: int
    queue_offset: int

    def is_held_by(self, record: Record) -> bool:
        """Whether a record is this message, at its place."""
        sent = self.message
        return (
            (record.topic, record.queue_id, record.flag, bytes(record.body), record.properties)
            == (sent.topic, sent.queue_id, sent.flag, sent.body, sent.properties)
        ) and (record.log_offset, record.queue_offset) == (self.log_offset, self.queue_offset)


class StoreModel(RuleBasedStateMachine):
    """A store, and the list of all messages that it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="escrowmq-model-"))
        self.generation = 0
        self.stored: list[Stored] = []
        self.store: Store

    @initialize(flush=st.sampled_from(["sync", "async"]))
    def make(self, flush: str) -> None:
        self.flush_mode = flush
        self.reopen()

    def reopen(self) -> None:
        # The checkpoint stays as the last orderly stop left it: nothing moves between steps but what a rule does.
        self.store = open_small(self.folder, flush=self.flush_mode, checkpoint_interval_ms=3_600_000, **EXPIRE_NOW)

    @property
    def folder(self) -> Path:
        return self.root / str(self.generation)

    @property
    def held(self) -> list[Stored]:
        """What expiry has left."""
        return [stored for stored in self.stored if stored.log_offset >= self.store.log_start]

    @rule(batch=st.lists(messages, min_size=1, max_size=12), waits=st.booleans())
    def append(self, batch: list[Message], waits: bool) -> None:  # noqa: FBT001
        receipts = self.store.append(batch)
        for message, receipt in zip(batch, receipts, strict=True):
            before = [stored.queue_offset for stored in self.stored if is_same_queue(stored.message, message)]
            assert receipt.queue_offset == max(before, default=-1) + 1
            self.stored.append(Stored(message, receipt.log_offset, receipt.queue_offset))
        if waits:
            self.store.wait_visible(receipts.end_offset)

    @rule()
    def flush(self) -> None:
        assert self.store.flush() == self.store.durable_end == self.store.log_end

    @rule(topic=st.sampled_from(TOPICS), queue_id=st.integers(0, 2), offset=st.integers(0, 60), count=st.integers(1, 9))
    def read(self, topic: str, queue_id: int, offset: int, count: int) -> None:
        self.settle()
        queue = [s for s in self.held if (s.message.topic, s.message.queue_id) == (topic, queue_id)]
        first = queue[0].queue_offset if queue else 0
        expected = [stored for stored in queue if stored.queue_offset >= offset][:count] if offset >= first else []
        agree(self.store.read(topic, queue_id, offset, count_max=count), expected)

    @rule(topic=st.sampled_from(TOPICS), key=st.sampled_from(KEYS))
    def find(self, topic: str, key: str) -> None:
        self.settle()
        expected = [
            s for s in self.held if s.message.topic == topic and key in s.message.properties.get("KEYS", "").split()
        ]
        found = self.store.find_by_key(topic, key, count_max=10_000)
        agree(sorted(found, key=lambda record: record.log_offset), expected)

    @precondition(lambda self: bool(self.stored))
    @rule(data=st.data())
    def look_up(self, data: st.DataObject) -> None:
        self.settle()
        if self.held:
            stored = data.draw(st.sampled_from(self.held))
            agree([self.store.record_at(stored.log_offset)], [stored])

    @rule()
    def expire(self) -> None:
        self.settle()
        before = self.store.log_start
        assert self.store.expire().log_start == self.store.log_start >= before

    @rule()
    def close_and_reopen(self) -> None:
        self.store.close()
        self.reopen()
        assert self.store.recovery_report.was_orderly

    @rule(settles=st.booleans(), log_first=st.booleans())
    def crash(self, settles: bool, log_first: bool) -> None:  # noqa: FBT001
        if settles:
            self.settle()
        visible_end, log_start = self.store.visible_end, self.store.log_start
        crashed, self.generation = self.folder, self.generation + 1
        copy_as_killed(crashed, self.folder, log_first=log_first)
        self.store.close()
        shutil.rmtree(crashed)
        self.reopen()
        assert self.store.log_start == log_start
        assert self.store.log_end >= visible_end
        # What was not visible yet may be gone, from some message on.
        self.stored = [stored for stored in self.stored if stored.log_offset < self.store.log_end]

    def settle(self) -> None:
        """Waits until every message is in its queue."""
        self.store.wait_visible(self.store.log_end)

    @invariant()
    def queues_hold_what_was_appended(self) -> None:
        if hasattr(self, "store"):
            self.settle()
            agree(every_record(self.store), self.held)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
        shutil.rmtree(self.root)


def is_same_queue(one: Message, other: Message) -> bool:
    """Whether two messages go to the same queue."""
    return (one.topic, one.queue_id) == (other.topic, other.queue_id)


def agree(records: list[Record], expected: list[Stored]) -> None:
    """Whether records are the expected ones, in order."""
    assert [record.log_offset for record in records] == [stored.log_offset for stored in expected]
    for record, stored in zip(records, expected, strict=True):
        assert stored.is_held_by(record), (record, stored)


def copy_as_killed(source: Path, target: Path, *, log_first: bool) -> None:
    """Copies a folder that is in use, the log before all else or after it. `lock` has no content that matters."""
    target.mkdir()
    for name in sorted((path.name for path in source.iterdir()), key=lambda name: (name == "commitlog") != log_first):
        if (source / name).is_dir():
            # Temporaries may be renamed away under the copy; recovery would have removed them.
            shutil.copytree(source / name, target / name, ignore=shutil.ignore_patterns("temporary"))
        else:
            shutil.copy2(source / name, target / name)


TestStoreModel = StoreModel.TestCase
TestStoreModel.settings = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    # The same examples in every run: a red build is a change of ours, not of the dice. `--hypothesis-seed` explores.
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
