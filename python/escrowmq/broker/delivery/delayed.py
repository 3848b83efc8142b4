"""Delivers delayed messages when their time has come.

    queue of a level     delivered │ head          all of one level wait equally long, so the first is due first
                         ──────────┼──▶ due at ... its place in the queue is looked at when it is due, and not before
    delayOffset.json     ───────┤  as far as what was delivered is durable

A kill delivers again what was delivered since the file was written, and loses nothing. While nothing is due, nothing is
done: for each level one time is known.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

import structlog

from escrowmq import _core
from escrowmq.broker.delivery.delay_offsets import DelayOffsetsFile
from escrowmq.broker.delivery.levels import DelayLevels, queue_of
from escrowmq.broker.delivery.postponing import countdown_ms, release
from escrowmq.broker.durable_progress import DurableProgress
from escrowmq.broker.ports import AppendedMessage, Log, LogWatch, QueueEntry, ScheduleStore
from escrowmq.errors import BadMessage, StoreError
from escrowmq.model import names
from escrowmq.protocol.bodies.delay_offsets import DelayOffsets

# Requests wait while a slice is delivered, and the fast lane while it is appended.
SLICE_COUNT_MAX: Final = 128
SLICE_SIZE_MAX_BYTES: Final = 512 * 1024
# What a store refuses now it may take later: a disk has room again, a limit is raised.
PAUSE_AFTER_REFUSAL_MS: Final = 1_000

_log = structlog.get_logger()


@dataclass
class _Level:
    """One level: how far it is delivered, and when the first message behind that is due."""

    number: int
    delay_ms: int
    next_offset: int
    progress: DurableProgress[int]
    # When the first message that waits is due; infinity if none does, 0 if that is yet to be looked at.
    due_ms: float = math.inf
    # Before this log offset is visible, there is nothing to look at.
    visible_at: int = 0
    # The end of the last message that was appended for this level.
    appended_end: int = 0
    # After a refusal: until when nothing is tried.
    paused_until_ms: int = 0

    @property
    def queue_id(self) -> int:
        return queue_of(self.number)


class DelayedDelivery:
    """All levels. A kind of `background.Work`; handlers tell it what they postpone."""

    def __init__(
        self,
        levels: DelayLevels,
        store: ScheduleStore,
        log: Log,
        watch: LogWatch,
        file: DelayOffsetsFile,
        *,
        save_interval_ms: int,
        wall_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._log = log
        self._watch = watch
        self._file = file
        self._save_interval_ms = save_interval_ms
        self._wall_ms = wall_ms
        self._save_due_ms = math.inf
        self._levels = []
        for number, delay_ms in enumerate(levels.delays_ms, start=1):
            offset = file.saved.offsets.get(number, 0)
            queue = store.queue(names.SCHEDULE_TOPIC, queue_of(number))
            if queue is not None:
                offset = max(queue.min_offset, min(offset, queue.max_offset))
            level = _Level(number, delay_ms, offset, DurableProgress(offset))
            self._look(level)
            self._levels.append(level)

    def postponed(self, level: int, message: AppendedMessage) -> None:
        """Takes notice of a message that was appended to the queue of a level."""
        noticed = self._levels[level - 1]
        noticed.appended_end = message.end_offset
        if math.isinf(noticed.due_ms):
            noticed.due_ms = message.store_timestamp_ms + noticed.delay_ms
            self._await_visible(noticed, message.end_offset)

    def offsets(self) -> DelayOffsets:
        """How far each level is delivered; some of it may not be durable."""
        offsets = {level.number: level.next_offset for level in self._levels if level.next_offset > 0}
        return DelayOffsets(self._file.saved.data_version, {**self._file.saved.offsets, **offsets})

    def wait_ms(self) -> float:
        """How long nothing is due, neither a message nor the file."""
        now_ms, visible_end = self._wall_ms(), self._store.visible_end
        waits = [self._countdown_ms(level, now_ms, visible_end) for level in self._levels]
        return min(*waits, self._save_due_ms - now_ms)

    def run(self) -> None:
        """Delivers a slice of the level that is overdue the longest, and writes the file if it is time to."""
        now_ms, visible_end = self._wall_ms(), self._store.visible_end
        due = [level for level in self._levels if self._countdown_ms(level, now_ms, visible_end) <= 0]
        if due:
            level = min(due, key=lambda level: level.due_ms)
            try:
                self._deliver(level, now_ms)
            except StoreError as error:
                level.paused_until_ms = now_ms + PAUSE_AFTER_REFUSAL_MS
                _log.error("delayed messages can't be delivered", level=level.number, reason=str(error))
        if self._save_due_ms <= now_ms:
            self.save()

    def save(self) -> None:
        """Writes down how far each level is delivered durably. What is not durable yet is written the next time."""
        durable_end = self._store.durable_end
        durable = {level.number: level.progress.durable(durable_end) for level in self._levels}
        self._file.save({number: offset for number, offset in durable.items() if offset > 0})
        is_all = all(durable[level.number] == level.next_offset for level in self._levels)
        self._save_due_ms = math.inf if is_all else self._wall_ms() + self._save_interval_ms

    def _countdown_ms(self, level: _Level, now_ms: int, visible_end: int) -> float:
        if math.isinf(level.due_ms) or level.visible_at > visible_end:
            return math.inf
        countdown = countdown_ms(int(level.due_ms), now_ms=now_ms, delay_ms=level.delay_ms)
        return max(countdown, level.paused_until_ms - now_ms)

    def _deliver(self, level: _Level, now_ms: int) -> None:
        """Delivers up to a slice of what is due."""
        due = self._due(level, now_ms)
        if due:
            records = self._store.read(
                names.SCHEDULE_TOPIC,
                level.queue_id,
                due[0].queue_offset,
                count_max=len(due),
                size_max_bytes=SLICE_SIZE_MAX_BYTES,
            )
            # Where none is left of what the queue names, all of it has expired meanwhile.
            last_offset = records[-1].queue_offset if records else due[-1].queue_offset
            end_offset = self._append([(record, message) for record in records if (message := _released(record))])
            level.next_offset = last_offset + 1
            level.progress.reach(level.next_offset, end_offset=end_offset)
            self._save_due_ms = min(self._save_due_ms, now_ms + self._save_interval_ms)
        self._look(level)

    def _due(self, level: _Level, now_ms: int) -> list[QueueEntry]:
        """The entries of messages that are due and visible, from the first on."""
        visible_end = self._store.visible_end

        def is_due(entry: QueueEntry) -> bool:
            countdown = countdown_ms(entry.tags_code, now_ms=now_ms, delay_ms=level.delay_ms)
            return countdown <= 0 and entry.log_offset + entry.size_bytes <= visible_end

        entries = self._store.entries(
            names.SCHEDULE_TOPIC, level.queue_id, level.next_offset, count_max=SLICE_COUNT_MAX
        )
        return list(takewhile(is_due, entries))

    def _append(self, released: list[tuple[_core.Record, _core.Message]]) -> int:
        """Appends messages but those that the store refuses for what they are; the log offset behind them."""
        while released:
            try:
                return list(self._log.append([message for _, message in released]))[-1].end_offset
            except BadMessage as error:
                # Its level is not to wait for it. Where it waited it can be read, by its id, until it expires.
                record, message = released.pop(error.index)
                _log.error(
                    "a delayed message can't be delivered",
                    id=record.offset_message_id,
                    topic=message.topic,
                    reason=str(error),
                )
        return 0

    def _look(self, level: _Level) -> None:
        """Notes when the first message that waits is due."""
        entries = self._store.entries(names.SCHEDULE_TOPIC, level.queue_id, level.next_offset, count_max=1)
        if entries:
            (first,) = entries
            level.due_ms = first.tags_code
            self._await_visible(level, first.log_offset + first.size_bytes)
        elif level.appended_end > self._store.visible_end:
            # One was appended that is not in its queue yet; when it is due stands there.
            level.due_ms = 0
            self._await_visible(level, level.appended_end)
        else:
            level.due_ms = math.inf

    def _await_visible(self, level: _Level, end_offset: int) -> None:
        level.visible_at = end_offset
        if end_offset > self._store.visible_end:
            self._watch.tell_when_visible(end_offset)


def _released(record: _core.Record) -> _core.Message | None:
    message = release(record)
    if message is None:
        _log.error("a delayed message does not say where it belongs", offset=record.queue_offset, queue=record.queue_id)
    return message
