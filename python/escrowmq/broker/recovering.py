"""Makes a store whole that nobody has open, as a start of the broker does, but without a server.

After a crash a decision may stand in the log without its op record, and how far transactions are may not be written
down. A broker of ours finds that out from the log; Apache's would ask producers about what is decided.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict, replace

from escrowmq import _core
from escrowmq.broker import addresses, transaction_counts
from escrowmq.broker.consumer_offsets import ConsumerOffsets
from escrowmq.broker.delivery.levels import DelayLevels
from escrowmq.broker.opened_transactions import PROGRESS_TOPICS, open_transactions
from escrowmq.broker_config import BrokerConfig, StoreConfig
from escrowmq.transaction.topics import HALF_QUEUE_ID, PROGRESS_GROUP


class Recovered(Struct, frozen=True, kw_only=True):
    """What was found, and what was done about it."""

    path: str
    was_killed: bool
    has_cut_log: bool
    log_end: int
    # Transactions that were decided and got their op record now, and those that are undecided.
    marked: int
    pending: int
    half_offset: int
    op_offset: int
    has_moved_progress: bool


class _Table:
    """Consumer offsets while no broker runs."""

    def __init__(self, offsets: Mapping[str, Mapping[int, int]]) -> None:
        self._offsets = {key: dict(queues) for key, queues in offsets.items()}
        self._version = 0

    def find(self, topic: str) -> int:
        """How far transactions were, by one of their two topics."""
        return self._offsets.get(_key(topic), {}).get(HALF_QUEUE_ID, 0)

    def move(self, topic: str, offset: int) -> None:
        """Notes how far they are."""
        self._offsets[_key(topic)] = {HALF_QUEUE_ID: offset}
        self._version += 1

    def consumer_offsets(self) -> Mapping[str, Mapping[int, int]]:
        return self._offsets

    def consumer_offsets_version(self) -> int:
        return self._version

    def pulled_offsets(self) -> Mapping[str, Mapping[int, int]]:
        """Nobody pulls."""
        return {}


def recover(folder: Path, config: BrokerConfig, store_config: StoreConfig) -> Recovered:
    """Recovers a store, writes what is missing, and closes it in order. Nothing in it expires.

    Raises:
        ConfigError: The configuration does not say where the broker is.
        StoreInUse: Somebody has it open.
        StoreError: It can't be opened, or not be written.
    """
    levels = DelayLevels.parse(config.delay_levels)
    # A disk that is too full for more messages has room for what makes the others whole.
    options = replace(store_config, flush="sync", disk_clean_ratio=1.0, disk_force_ratio=1.0, disk_refuse_ratio=1.0)
    clock = _core.Clock()
    place = addresses.choose(config)
    with _core.Store.open(
        folder, store_host=place.advertised, delay_levels_ms=levels.delays_ms, clock=clock, **asdict(options)
    ) as store:
        offsets = ConsumerOffsets(_core.ConfigFile(folder, "consumerOffset.json"), now_ms=clock.wall_ms)
        table = _Table(offsets.within(store))
        offsets.begin(table)
        half_offset, op_offset = (table.find(topic) for topic in PROGRESS_TOPICS)
        opened = open_transactions(
            store,
            _StoreLog(store),
            (half_offset, op_offset),
            decided_since_ms=clock.wall_ms() - config.transaction_history_ms,
            # What is written here is op records, whose topic every broker has.
            make_topic=lambda _: None,
        )
        # What was done is on disk before it is written down that it was.
        store.wait_visible(store.flush())
        progress = opened.journal.progress()
        for topic, offset in zip(PROGRESS_TOPICS, progress, strict=True):
            table.move(topic, offset)
        has_moved = progress != (half_offset, op_offset)
        if has_moved:
            offsets.save(table)
        opened.index.save()
        counts_file = _core.ConfigFile(folder, transaction_counts.FILE_NAME)
        transaction_counts.save_counts(counts_file, opened.index.pending_by_topic(), now_ms=clock.wall_ms())
        report = store.recovery_report
        return Recovered(
            path=str(folder),
            was_killed=not report.was_orderly,
            has_cut_log=report.has_cut_log,
            log_end=store.log_end,
            marked=opened.marked_count,
            pending=opened.index.pending_count,
            half_offset=progress[0],
            op_offset=progress[1],
            has_moved_progress=has_moved,
        )


class _StoreLog:
    """The log, where nobody counts what is appended."""

    def __init__(self, store: _core.Store) -> None:
        self._store = store

    def append(self, messages: Sequence[_core.Message], *, uses_reserve: bool = False) -> list[_core.Receipt]:
        return list(self._store.append(messages, uses_reserve=uses_reserve))


def _key(topic: str) -> str:
    return f"{topic}@{PROGRESS_GROUP}"
