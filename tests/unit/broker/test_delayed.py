"""Delayed messages: delivered when it is time, not before, and again rather than never."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.opening import ANY_DISK, EXPIRE_NOW, SMALL, open_small
from tests.unit.broker.desk import TextInMemory

from escrowmq import Clock, Message, QueueEntry, Receipts, Record, Store
from escrowmq.broker.delivery import delayed as delayed_module
from escrowmq.broker.delivery.delay_offsets import DelayOffsetsFile
from escrowmq.broker.delivery.delayed import PAUSE_AFTER_REFUSAL_MS, DelayedDelivery
from escrowmq.broker.delivery.draft import Draft
from escrowmq.broker.delivery.levels import DelayLevels, queue_of
from escrowmq.broker.delivery.postponing import countdown_ms, postpone
from escrowmq.errors import BadMessage, DiskFull

LEVELS = DelayLevels.parse("1s 5s 1m 2h")
SAVE_INTERVAL_MS = 700


class Watch:
    """Which parts of the log somebody waits for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def tell_when_visible(self, log_offset: int) -> None:
        self.asked.append(log_offset)


class Altered:
    """The store but for the methods that a test replaces."""

    def __init__(self, store: Store, **replaced: Any) -> None:
        self._store = store
        self._replaced = replaced

    def __getattr__(self, name: str) -> Any:
        return self._replaced[name] if name in self._replaced else getattr(self._store, name)


def refusing_large_ones(store: Store) -> Altered:
    """A log that takes no body of more than nine bytes."""

    def append(messages: Sequence[Message], **options: Any) -> Receipts:
        for index, message in enumerate(messages):
            if len(message.body) > 9:
                error = BadMessage(f"body of {len(message.body)} bytes")
                error.index = index
                raise error
        return store.append(messages, **options)

    return Altered(store, append=append)


class Room:
    """A store, a clock in the test's hand, and what delivers."""

    def __init__(self, store: Store, clock: Clock, file: TextInMemory, *, log: Any = None) -> None:
        self.store = store
        self.log = log or store
        self.clock = clock
        self.file = file
        self.watch = Watch()
        self.delivery = self.restarted()

    def restarted(self) -> DelayedDelivery:
        """What a new process makes of what is on disk."""
        return DelayedDelivery(
            LEVELS,
            self.store,
            self.log,
            self.watch,
            DelayOffsetsFile(self.file, wall_ms=self.clock.wall_ms),
            save_interval_ms=SAVE_INTERVAL_MS,
            wall_ms=self.clock.wall_ms,
        )

    def postpone(self, body: bytes, level: int = 1, *, topic: str = "orders", waits: bool = True) -> None:
        """A delayed message, as the handler of sends stores it."""
        draft = Draft(
            topic=topic,
            queue_id=3,
            properties={"TAGS": "a", "DELAY": str(level), "UNIQ_KEY": body.decode()},
            body=body,
            born_timestamp_ms=7,
            born_host="10.0.0.1:7",
        )
        receipts = self.store.append([postpone(draft, level, LEVELS).to_message()])
        if waits:
            self.store.wait_visible(receipts.end_offset)
        self.delivery.postponed(level, receipts[0])

    def run(self) -> list[bytes]:
        """Does what is due; what the queue of the topic holds then."""
        while self.delivery.wait_ms() <= 0:
            self.delivery.run()
        return [bytes(record.body) for record in self.delivered()]

    def delivered(self) -> list[Record]:
        self.store.wait_visible(self.store.log_end)
        return list(self.store.iterate("orders", 3))

    def pass_ms(self, time_ms: int) -> list[bytes]:
        self.clock.advance(time_ms)
        return self.run()


@pytest.fixture
def clock() -> Clock:
    return Clock(stands=True)


@pytest.fixture
def room(tmp_path: Path, clock: Clock) -> Iterator[Room]:
    with open_small(tmp_path, clock=clock, delay_levels_ms=LEVELS.delays_ms) as store:
        yield Room(store, clock, TextInMemory())


def test_a_message_is_delivered_when_its_time_has_come_and_not_before(room: Room) -> None:
    room.postpone(b"soon", level=1)
    room.postpone(b"later", level=2)
    assert room.delivery.wait_ms() == 1_000
    assert room.pass_ms(999) == []
    assert room.pass_ms(1) == [b"soon"]
    assert room.pass_ms(3_999) == [b"soon"]
    assert room.pass_ms(1) == [b"soon", b"later"]
    (waited,) = room.store.iterate("SCHEDULE_TOPIC_XXXX", 0)
    assert room.delivered()[0].store_timestamp_ms == waited.store_timestamp_ms + 1_000


def test_what_is_delivered_is_the_message_with_all_that_was_written_on_it(room: Room) -> None:
    room.postpone(b"hello")
    room.pass_ms(1_000)
    (waited,) = room.store.iterate("SCHEDULE_TOPIC_XXXX", 0)
    (record,) = room.delivered()
    assert (record.topic, record.queue_id, bytes(record.body)) == ("orders", 3, b"hello")
    assert record.properties == waited.properties
    assert record.properties["REAL_TOPIC"] == "orders"
    assert record.properties["DELAY"] == "1"
    assert (record.born_timestamp_ms, record.born_host) == (7, "10.0.0.1:7")
    assert record.store_host == waited.store_host


def test_while_nothing_waits_or_is_due_nothing_is_read_or_written(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    assert room.delivery.wait_ms() == math.inf
    room.postpone(b"much later", level=4)

    def touched(*_: object, **__: object) -> None:
        raise AssertionError("nothing is due")

    idle = Altered(room.store, entries=touched, read=touched, append=touched, queue=touched)
    monkeypatch.setattr(room.delivery, "_store", idle)
    monkeypatch.setattr(room.delivery, "_log", idle)
    for _ in range(100):
        before_ms = room.delivery.wait_ms()
        room.clock.advance(1_000)
        assert room.delivery.wait_ms() == before_ms - 1_000
    assert room.file.saves == 0


def test_what_waited_when_the_broker_stopped_is_delivered_by_the_next_one(room: Room) -> None:
    for number in range(5):
        room.postpone(b"%d" % number)
    room.pass_ms(1_000)
    room.store.flush()
    room.delivery.save()
    assert room.file.value["offsetTable"] == {"1": 5}
    room.postpone(b"5")
    room.delivery = room.restarted()
    assert room.delivery.wait_ms() == 1_000
    assert room.pass_ms(1_000) == [b"%d" % number for number in range(6)]
    again = room.restarted()
    assert again.offsets().offsets == {1: 5}
    again.run()


def test_a_kill_delivers_again_what_was_not_written_down_and_loses_nothing(room: Room) -> None:
    for number in range(3):
        room.postpone(b"%d" % number)
    assert room.pass_ms(1_000) == [b"0", b"1", b"2"]
    assert room.file.text is None
    room.delivery = room.restarted()
    assert room.run() == [b"0", b"1", b"2"] * 2


def test_progress_is_written_down_soon_after_and_only_as_far_as_it_is_durable(tmp_path: Path, clock: Clock) -> None:
    """In async mode, what was delivered is in its queue before it is on disk."""
    options: dict[str, Any] = {"flush": "async", "delay_levels_ms": LEVELS.delays_ms}
    with open_small(tmp_path, clock=clock, **options) as store:
        room = Room(store, clock, TextInMemory())
        room.postpone(b"hello")
        room.store.flush()
        assert room.pass_ms(1_000) == [b"hello"]
        assert store.durable_end < store.log_end
        assert room.delivery.wait_ms() == SAVE_INTERVAL_MS
        room.pass_ms(SAVE_INTERVAL_MS)
        assert room.file.text is None
        store.flush()
        room.pass_ms(SAVE_INTERVAL_MS)
        assert room.file.value["offsetTable"] == {"1": 1}
        assert room.file.value["dataVersion"]["counter"] == 1
        assert room.delivery.wait_ms() == math.inf


def test_a_level_whose_last_message_is_not_in_its_queue_yet_is_looked_at_when_it_is(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two messages are appended; the second becomes visible only after the first was delivered."""
    room.postpone(b"first")
    visible_end = room.store.visible_end

    def entries(*arguments: Any, **options: Any) -> list[QueueEntry]:
        return [entry for entry in room.store.entries(*arguments, **options) if entry.log_offset < visible_end]

    room.clock.advance(1_000)
    room.postpone(b"second")
    monkeypatch.setattr(room.delivery, "_store", Altered(room.store, entries=entries, visible_end=visible_end))
    room.delivery.run()
    assert room.watch.asked, "somebody has to say when the second is there"
    assert room.delivery.wait_ms() > 0
    monkeypatch.undo()
    assert room.run() == [b"first"]
    assert room.pass_ms(1_000) == [b"first", b"second"]


def test_a_message_that_is_postponed_is_awaited_until_it_is_visible(room: Room) -> None:
    room.postpone(b"hello", waits=False)
    room.store.wait_visible(room.store.log_end)
    assert room.pass_ms(1_000) == [b"hello"]


def test_a_million_are_delivered_in_slices(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delayed_module, "SLICE_COUNT_MAX", 4)
    for number in range(10):
        room.postpone(b"%d" % number)
    room.clock.advance(1_000)
    counts = []
    while room.delivery.wait_ms() <= 0:
        room.delivery.run()
        counts.append(len(room.delivered()))
    assert counts == [4, 8, 10]


def test_the_level_that_is_overdue_the_longest_comes_first(room: Room) -> None:
    room.postpone(b"minute", level=3)
    room.clock.advance(58_000)
    room.postpone(b"second", level=1)
    room.clock.advance(5_000)
    room.delivery.run()
    assert [bytes(record.body) for record in room.delivered()] == [b"second"]
    assert room.run() == [b"second", b"minute"]


def test_a_disk_that_is_full_delays_delivery_and_loses_nothing(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.postpone(b"hello")
    room.clock.advance(1_000)

    def append(_: object, **__: object) -> None:
        raise DiskFull("no space")

    monkeypatch.setattr(room.delivery, "_log", Altered(room.store, append=append))
    room.delivery.run()
    assert room.delivery.wait_ms() == PAUSE_AFTER_REFUSAL_MS
    monkeypatch.undo()
    assert room.run() == []
    assert room.pass_ms(PAUSE_AFTER_REFUSAL_MS) == [b"hello"]


def test_a_message_that_the_store_refuses_is_put_aside_and_holds_up_no_other(tmp_path: Path, clock: Clock) -> None:
    """It can be read where it waited."""
    with open_small(tmp_path, clock=clock, delay_levels_ms=LEVELS.delays_ms) as store:
        room = Room(store, clock, TextInMemory(), log=refusing_large_ones(store))
        for body in (b"large" * 9, b"one", b"large" * 9, b"large" * 9, b"two"):
            room.postpone(body)
        with capture_logs() as logged:
            assert room.pass_ms(1_000) == [b"one", b"two"]
        assert room.delivery.offsets().offsets == {1: 5}
        aside = [record for record in store.iterate("SCHEDULE_TOPIC_XXXX", 0) if len(record.body) > 9]
        assert [(entry["id"], entry["topic"]) for entry in logged] == [
            (record.offset_message_id, "orders") for record in aside
        ]
        room.postpone(b"three")
        assert room.pass_ms(1_000) == [b"one", b"two", b"three"]


def test_what_was_taken_is_delivered_whatever_the_limit_of_bodies_is_then(tmp_path: Path, clock: Clock) -> None:
    file = TextInMemory()
    with open_small(tmp_path, clock=clock, delay_levels_ms=LEVELS.delays_ms) as store:
        Room(store, clock, file).postpone(b"large" * 9)
    with open_small(tmp_path, clock=clock, delay_levels_ms=LEVELS.delays_ms, body_size_max_bytes=9) as store:
        assert Room(store, clock, file).pass_ms(1_000) == [b"large" * 9]


def test_a_level_of_which_nothing_can_be_delivered_is_done_with(tmp_path: Path, clock: Clock) -> None:
    file = TextInMemory()
    with open_small(tmp_path, clock=clock, delay_levels_ms=LEVELS.delays_ms) as store:
        room = Room(store, clock, file, log=refusing_large_ones(store))
        room.postpone(b"large" * 9)
        assert room.pass_ms(1_000) == []
        assert room.pass_ms(SAVE_INTERVAL_MS) == []
        assert room.delivery.wait_ms() == math.inf
    assert file.value["offsetTable"] == {"1": 1}


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"REAL_TOPIC": "orders"},
        {"REAL_TOPIC": "orders", "REAL_QID": "-1"},
        {"REAL_TOPIC": "orders", "REAL_QID": "9999999999"},
        {"REAL_TOPIC": "../orders", "REAL_QID": "0"},
        {"REAL_TOPIC": "RMQ_SYS_TRANS_HALF_TOPIC", "REAL_QID": "0"},
    ],
)
def test_a_message_that_belongs_nowhere_is_passed_over(room: Room, properties: dict[str, str]) -> None:
    message = Message("SCHEDULE_TOPIC_XXXX", b"lost", properties={"DELAY": "1", **properties})
    receipts = room.store.append([message])
    room.store.wait_visible(receipts.end_offset)
    room.delivery.postponed(1, receipts[0])
    room.postpone(b"after it")
    assert room.pass_ms(1_000) == [b"after it"]
    assert room.delivery.offsets().offsets == {1: 2}


def test_what_has_expired_is_passed_over(tmp_path: Path, clock: Clock) -> None:
    with open_small(tmp_path, clock=clock, delay_levels_ms=LEVELS.delays_ms) as store:
        room = Room(store, clock, TextInMemory())
        for number in range(200):
            room.postpone(b"%d" % number + b"." * 200)
    options = {**SMALL, **ANY_DISK, **EXPIRE_NOW, "clock": clock, "delay_levels_ms": LEVELS.delays_ms}
    with Store.open(tmp_path, **options) as store:
        room = Room(store, clock, TextInMemory())
        assert store.expire().segments_expired > 0
        bodies = room.pass_ms(1_000)
        assert 0 < len(bodies) < 200
        assert bodies[-1].startswith(b"199")
        assert room.delivery.offsets().offsets == {1: 200}


def test_progress_of_another_store_is_corrected(room: Room) -> None:
    room.postpone(b"hello")
    room.file.text = '{"offsetTable":{"1":99,"2":5,"7":3}}'
    room.delivery = room.restarted()
    assert room.pass_ms(1_000) == []
    room.postpone(b"next")
    assert room.pass_ms(1_000) == [b"next"]
    room.store.flush()
    room.delivery.save()
    assert room.file.value["offsetTable"] == {"1": 2, "2": 5, "7": 3}


def test_a_message_of_a_clock_that_ran_ahead_is_due_at_once() -> None:
    assert countdown_ms(1_500, now_ms=1_000, delay_ms=1_000) == 500
    assert countdown_ms(2_000, now_ms=1_000, delay_ms=1_000) == 1_000
    assert countdown_ms(2_001, now_ms=1_000, delay_ms=1_000) == 0
    assert countdown_ms(900, now_ms=1_000, delay_ms=1_000) == -100


def test_levels_are_read_as_rocketmq_writes_them() -> None:
    levels = DelayLevels.parse("1s 5s 10m 2h 1d")
    assert levels.delays_ms == (1_000, 5_000, 600_000, 7_200_000, 86_400_000)
    assert (levels.highest, levels.delay_ms(3), queue_of(3)) == (5, 600_000, 2)
