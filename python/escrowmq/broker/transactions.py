"""The seats of the transaction room in the broker: its parts put together, and what is due for them now and then."""

from typing import Final

import structlog

from escrowmq import _core
from escrowmq.broker.client_registry import ClientRegistry
from escrowmq.broker.counted_log import CountedLog
from escrowmq.broker.durable_progress import DurableProgress
from escrowmq.broker.index_saver import IndexSaver
from escrowmq.broker.later_commits import LaterCommits
from escrowmq.broker.opened_transactions import end_of, open_transactions
from escrowmq.broker.settings import Settings
from escrowmq.broker.topics import Topics
from escrowmq.broker.transaction_counts import FILE_NAME, save_counts
from escrowmq.broker.written_records import WrittenRecords
from escrowmq.transaction.asking import Asking
from escrowmq.transaction.checking import CheckBack
from escrowmq.transaction.counters import Counters
from escrowmq.transaction.ending import Ending
from escrowmq.transaction.rescuing import Rescue
from escrowmq.transaction.room import Room
from escrowmq.transaction.ruling import CheckRules
from escrowmq.transaction.topics import HALF_QUEUE_ID, HALF_TOPIC, OP_TOPIC, PROGRESS_GROUP

UPKEEP_INTERVAL_MS: Final = 1_000
# After this much log a snapshot is worth its writing: a start has to read what came after it.
SNAPSHOT_SIZE_BYTES: Final = 256 * 1024 * 1024

_log = structlog.get_logger()


class Transactions:
    """Everything about transactions that an open store and a server need."""

    def __init__(
        self,
        store: _core.Store,
        server: _core.BrokerServer,
        *,
        clients: ClientRegistry,
        topics: Topics,
        settings: Settings,
        later: LaterCommits,
        clock: _core.Clock,
    ) -> None:
        self._store = store
        self._server = server
        self._settings = settings
        self._counts_file = _core.ConfigFile(settings.broker.data, FILE_NAME)
        self._wall_ms = clock.wall_ms
        counters = Counters()
        done = self._saved_progress()
        opened = open_transactions(
            store,
            CountedLog(store, server),
            done,
            decided_since_ms=self._history_begin_ms(),
            make_topic=topics.create_own,
        )
        self.index, self.journal = opened.index, opened.journal
        if opened.marked_count:
            _log.info("op records written that a crash had kept from being written", transactions=opened.marked_count)
        self._progress = DurableProgress(done)
        self._saver = IndexSaver(self.index)
        self._hold()
        # In sync mode nobody knows of a half message that can't be read.
        records = WrittenRecords(store) if settings.store.flush == "async" else store
        ending = Ending(self.index, records, self.journal, counters, later=later)
        self.room = Room(self.index, store, self.journal, ending, counters)
        self._rescuing = Rescue(self.index, store, self.journal, segment_size_bytes=settings.store.segment_size_bytes)
        self.asking = Asking(
            self.index, store, producers=clients, peers=server, counters=counters, broker_name=settings.broker.name
        )
        self.check_back = CheckBack(
            self.index,
            store,
            self.journal,
            self.asking,
            counters=counters,
            rules=self._rules,
            interval_ms=lambda: settings.broker.transaction_check_interval_ms,
            now_ms=clock.monotonic_ms,
            wall_ms=clock.wall_ms,
        )

    def upkeep(self) -> None:
        """Forgets what was decided long ago, keeps what is pending in the log, and notes how far things have come."""
        self.index.forget_decided_before(self._history_begin_ms())
        self.index.forget_decided_beyond(self._settings.broker.transaction_history_max)
        self._hold()
        self._progress.reach(self.journal.progress(), end_offset=self._store.log_end)
        half_offset, op_offset = self._progress.durable(self._store.durable_end)
        self._tell_progress(HALF_TOPIC, half_offset)
        self._tell_progress(OP_TOPIC, op_offset)
        if self.index.end - self.index.saved_end > SNAPSHOT_SIZE_BYTES:
            self._saver.begin()
        # The last, since it needs room on the disk, which the others do not.
        self._rescue()

    def close(self) -> None:
        """Notes how far things have come, when everything is on disk."""
        self.upkeep()
        self._saver.finish()
        self.index.save()
        if self.index.saved_end < self.index.end:
            # That was one of before, which had waited for the log to be durable.
            self.index.save()
        save_counts(self._counts_file, self.index.pending_by_topic(), now_ms=self._wall_ms())

    def abandon(self) -> None:
        """Waits for the thread that writes the index down, which ends when the store does."""
        self._saver.finish()

    def _history_begin_ms(self) -> int:
        return self._wall_ms() - self._settings.broker.transaction_history_ms

    def _rules(self) -> CheckRules:
        broker = self._settings.broker
        return CheckRules(
            timeout_ms=broker.transaction_timeout_ms,
            checks_max=broker.transaction_checks_max,
            retention_ms=self._settings.store.retention_age_ms,
        )

    def _saved_progress(self) -> tuple[int, int]:
        return self._progress_of(HALF_TOPIC), self._progress_of(OP_TOPIC)

    def _progress_of(self, topic: str) -> int:
        """As it was saved, and never beyond what the log still holds after a crash."""
        saved = self._server.consumer_offset(PROGRESS_GROUP, topic, HALF_QUEUE_ID) or 0
        return max(0, min(saved, end_of(self._store, topic)))

    def _tell_progress(self, topic: str, offset: int) -> None:
        # Only what has changed: a commit has all offsets written again, also on a broker that does nothing.
        # Compat: a broker without transactions has no progress, and its half topic no group.
        if (self._server.consumer_offset(PROGRESS_GROUP, topic, HALF_QUEUE_ID) or 0) != offset:
            self._server.commit_consumer_offset(PROGRESS_GROUP, topic, HALF_QUEUE_ID, offset)

    def _hold(self) -> None:
        """Nothing that is pending falls off the log, nor what is prepared before we look again."""
        first = self.index.first_live_log_offset
        self._store.hold_from(self._store.log_end if first is None else first)

    def _rescue(self) -> None:
        self._rescuing.run(
            is_disk_full=self._store.statistics().disk_used_ratio >= self._settings.store.disk_force_ratio,
            log_start=self._store.log_start,
            log_end=self._store.log_end,
        )
