"""The composition root: builds the broker, runs it, stops it. The only place with everything in hand.

    BrokerServer (its own threads) ── events ──▶ step ──▶ processors ──▶ tables
                                   ◀─ answers ──      ──▶ snapshots, registration, notices to members

Everything here is done by the one thread that calls `step`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

import structlog
from msgspec.structs import asdict, replace

from escrowmq import _core
from escrowmq.broker import addresses, metrics, parts, processors
from escrowmq.broker.background import Background
from escrowmq.broker.client_registry import ClientRegistry
from escrowmq.broker.consumer_filters import ConsumerFilters
from escrowmq.broker.consumer_offsets import ConsumerOffsets
from escrowmq.broker.context import Context
from escrowmq.broker.counted_log import CountedLog
from escrowmq.broker.delivery.delay_offsets import DelayOffsetsFile
from escrowmq.broker.delivery.delayed import DelayedDelivery
from escrowmq.broker.delivery.levels import DelayLevels
from escrowmq.broker.delivery.timing import TimerRules
from escrowmq.broker.forwarded_requests import ForwardedRequests
from escrowmq.broker.housekeeping import Task, Timetable
from escrowmq.broker.later_commits import LaterCommits
from escrowmq.broker.live_settings import LiveSettings
from escrowmq.broker.locks import QueueLocks
from escrowmq.broker.outcome import Forward
from escrowmq.broker.registration import Registration
from escrowmq.broker.settings import Settings
from escrowmq.broker.settling import Settled, Settling
from escrowmq.broker.snapshot import Snapshots
from escrowmq.broker.statistics import Statistics
from escrowmq.broker.subscriptions import SubscriptionGroups
from escrowmq.broker.topics import Topics
from escrowmq.broker.traffic_statistics import SAMPLE_MS
from escrowmq.broker.transactions import UPKEEP_INTERVAL_MS, Transactions
from escrowmq.broker_config import BrokerConfig, StoreConfig
from escrowmq.errors import ServerClosed
from escrowmq.protocol.messages import Answer
from escrowmq.telemetry.metrics import Reading

BATCH_COUNT_MAX: Final = 256
CLIENT_SCAN_MS: Final = 10_000
LEASE_SCAN_MS: Final = 60_000
FILTERS_SAVE_MS: Final = 10_000
UNREGISTER_WAIT_MS: Final = 3_000
STOPPING_WAIT_S: Final = 0.01

Event: TypeAlias = (
    _core.Request
    | _core.Response
    | _core.RequestWritten
    | _core.ConnectionOpened
    | _core.ConnectionClosed
    | _core.LogVisible
)

_log = structlog.get_logger()


class Broker:
    """A broker that listens from its making to its closing. Use it as a context manager.

    It goes by `clock`, or by one of its own. `while_stopping` is called while the broker waits for name servers to
    answer: one on the same thread has to.
    """

    def __init__(
        self,
        config: BrokerConfig,
        store: StoreConfig,
        *,
        data: Path,
        clock: _core.Clock | None = None,
        while_stopping: Callable[[], None] = lambda: None,
    ) -> None:
        self._while_stopping = while_stopping
        clock = clock or _core.Clock()
        self._now_ms = clock.monotonic_ms
        place, name_servers = addresses.choose(config), addresses.name_servers(config)
        settings = Settings(
            replace(config, advertise=place.host, port=place.port, data=str(data)),
            store,
            _core.ConfigFile(data, "escrowmqSettings.json"),
            now_ms=clock.wall_ms,
        )
        config, store = settings.broker, settings.store
        topics = Topics(parts.topic_rules(config), _core.ConfigFile(data, "topics.json"), now_ms=clock.wall_ms)
        self._offsets = ConsumerOffsets(_core.ConfigFile(data, "consumerOffset.json"), now_ms=clock.wall_ms)
        groups = SubscriptionGroups(
            _core.ConfigFile(data, "subscriptionGroup.json"),
            now_ms=clock.wall_ms,
            has_auto_create=config.creates_groups,
        )
        filters = ConsumerFilters(_core.ConfigFile(data, "consumerFilter.json"), now_ms=clock.wall_ms)
        clients = ClientRegistry(expiry_ms=config.client_timeout_ms)
        levels = DelayLevels.parse(config.delay_levels)
        delay_offsets = DelayOffsetsFile(_core.ConfigFile(data, "delayOffset.json"), wall_ms=clock.wall_ms)
        self._store = _core.Store.open(
            data, store_host=place.advertised, delay_levels_ms=levels.delays_ms, clock=clock, **asdict(store)
        )
        with ExitStack() as on_failure:
            on_failure.callback(self._store.close)
            self._timers = parts.start_timers(self._store, config, store)
            if self._timers is not None:
                on_failure.callback(self._timers.close)
            self._server = parts.start_server(self._store, place, config)
            on_failure.callback(self._server.close)
            self._server.load_consumer_offsets(self._offsets.within(self._store))
            self._offsets.begin(self._server)
            self._delayed = DelayedDelivery(
                levels,
                self._store,
                CountedLog(self._store, self._server),
                self._server,
                delay_offsets,
                save_interval_ms=config.delay_offsets_interval_ms,
                wall_ms=clock.wall_ms,
            )
            later = LaterCommits(
                levels,
                self._delayed,
                self._timers,
                timer_rules=lambda: TimerRules.of(settings.broker),
                wall_ms=clock.wall_ms,
            )
            self._transactions = Transactions(
                self._store, self._server, clients=clients, topics=topics, settings=settings, later=later, clock=clock
            )
            statistics = Statistics(
                self._store, self._server, self._delayed, self._timers, cluster=config.cluster, clock=clock
            )
            on_failure.pop_all()
        snapshots = Snapshots(topics, groups, clients, filters, has_property_filters=config.has_property_filters)
        snapshots.publish(self._server)
        self._context = Context(
            broker_name=config.name,
            address=place.advertised,
            settings=settings,
            stamp=parts.stamp(config, place, clock),
            levels=levels,
            topics=topics,
            groups=groups,
            clients=clients,
            filters=filters,
            locks=QueueLocks(lease_ms=config.queue_lease_ms),
            offsets=self._server,
            snapshots=snapshots,
            fast_lane=self._server,
            store=self._store,
            log=self._transactions.journal,
            delayed=self._delayed,
            statistics=statistics,
            timers=self._timers,
            transactions=self._transactions.room,
            now_ms=self._now_ms,
            wall_ms=clock.wall_ms,
            offsets_version=lambda: self._offsets.data_version,
            log_end=lambda: self._store.log_end,
            save_offsets=self._save_offsets,
        )
        self._registration = Registration(
            parts.identity(config, place),
            name_servers,
            topics,
            self._server,
            resolve=addresses.Resolver(),
            interval_ms=config.register_interval_ms,
            permission=config.permission,
        )
        self._forwarded: ForwardedRequests[_core.Request] = ForwardedRequests(self._server)
        save_offsets = Task(self._save_offsets, config.offsets_interval_ms)
        live_settings = LiveSettings(
            settings,
            server=self._server,
            store=self._store,
            topics=topics,
            groups=groups,
            clients=clients,
            registration=self._registration,
            save_offsets=save_offsets,
        )
        self._settling = Settling(
            self._server,
            self._context,
            live_settings=live_settings,
            snapshots=snapshots,
            registration=self._registration,
            name_server_wait_ms=config.name_server_wait_ms,
            flush_transactions=parts.transaction_flush(self._store, config, store),
        )
        self._timetable = Timetable(
            [
                save_offsets,
                Task(self._expire_clients, CLIENT_SCAN_MS),
                Task(self._expire_leases, LEASE_SCAN_MS),
                Task(self._save_filters, FILTERS_SAVE_MS),
                Task(statistics.sample, SAMPLE_MS),
                Task(self._transactions.upkeep, UPKEEP_INTERVAL_MS),
            ],
            now_ms=self._now_ms(),
        )
        self._background = Background([self._delayed, self._transactions.check_back], now_ms=self._now_ms)
        self._advertised = place.advertised
        self._registration.tick(now_ms=self._now_ms())

    @property
    def addresses(self) -> list[str]:
        """Where it listens."""
        return self._server.addresses

    @property
    def advertised(self) -> str:
        """The address that clients are told."""
        return self._advertised

    def metrics(self) -> Iterator[Reading]:
        """What a monitor reads: what the tables say now, and the rest when it is gone through, on any thread."""
        found = metrics.overview(self._context, name_server_count=len(self.registered_at))
        return metrics.readings(found, self._server, self._store)

    def unready(self) -> str | None:
        """Why sends are refused at the moment; None if they are not."""
        store = self._store.statistics()
        if store.poisoned_by is not None:
            return f"the store is poisoned: {store.poisoned_by}"
        if store.disk_used_ratio >= self._context.settings.store.disk_refuse_ratio:
            return f"the disk is full: {store.disk_used_ratio:.0%} in use"
        if self._timers is not None and self._timers.broken_by is not None:
            return f"the timers stand still: {self._timers.broken_by}"
        return None

    @property
    def registered_at(self) -> list[str]:
        """The name servers that know it."""
        return self._registration.registered_at

    @property
    def store(self) -> _core.Store:
        """The store, for those who look at it."""
        return self._store

    @property
    def server(self) -> _core.BrokerServer:
        """The server, for those who look at it."""
        return self._server

    def fileno(self) -> int:
        """A descriptor that is readable while there is something to do."""
        return self._server.fileno()

    def wait_ms(self) -> float:
        """How long nothing has to be done unless the descriptor says so; infinity for as long as it does not."""
        due = min(
            self._timetable.next_due_ms(),
            self._registration.next_tick_ms(),
            self._settling.next_deadline_ms(),
            self._forwarded.next_deadline_ms(),
        )
        return max(0.0, min(due - self._now_ms(), self._background.wait_ms()))

    def step(self) -> None:
        """Does what waits: requests, events of connections, and what it is time for."""
        self._handle(self._server.next_batch(count_max=BATCH_COUNT_MAX, timeout_s=0))
        now_ms = self._now_ms()
        self._timetable.run(now_ms)
        self._registration.tick(now_ms=now_ms)
        self._background.run()
        self._settling.settle(self._forwarded.expire(now_ms=now_ms))

    def close(self) -> None:
        """Stops in order: name servers are told, what is in flight is answered, everything is on disk.

        A step that fails keeps none of the others from being done; its error is raised at the end.
        """
        with ExitStack() as steps:
            # The last comes first.
            steps.callback(self._close_store)
            steps.callback(self._save_filters)
            steps.callback(self._save_offsets)
            steps.callback(self._save_progress)
            if self._timers is not None:
                steps.callback(self._timers.close)
            steps.callback(self._server.close)
            steps.callback(self._settling.close)
            steps.callback(self._unregister)

    def abandon(self) -> None:
        """Stops as a kill would: nobody is told, nothing is saved, and the next start recovers. For tests."""
        self._server.abandon()
        self._settling.abandon()
        if self._timers is not None:
            self._timers.abandon()
        self._store.abandon()
        self._transactions.abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _handle(self, events: Iterable[Event]) -> None:
        """Requests in batches, but none across the end of a connection: what came before it is handled before it."""
        requests: list[_core.Request] = []
        for event in events:
            if isinstance(event, _core.Request):
                requests.append(event)
                continue
            self._process(requests)
            requests = []
            try:
                self._notice(event)
            except ServerClosed:
                raise
            except Exception as error:  # noqa: BLE001 - a fault in one event must not take the broker down
                _log.error("event failed", kind=type(event).__name__, exc_info=error)
        self._process(requests)

    def _notice(self, event: Event) -> None:
        if isinstance(event, _core.Response):
            self._registration.answered(
                event.connection, event.opaque, event.code, event.remark, event.body, now_ms=self._now_ms()
            )
            self._settling.settle(self._forwarded.answered(event.connection, event.opaque, _reply(event)))
        elif isinstance(event, _core.ConnectionClosed):
            self._registration.closed(event.connection, event.reason, now_ms=self._now_ms())
            self._transactions.asking.closed(event.connection)
            self._context.close_client(event.connection)
            self._settling.settle(self._forwarded.closed(event.connection))
        elif isinstance(event, _core.RequestWritten):
            self._transactions.asking.written(event.connection, event.opaque)
        elif isinstance(event, _core.ConnectionOpened) and event.is_outgoing:
            self._registration.opened(event.connection, now_ms=self._now_ms())

    def _process(self, requests: Sequence[_core.Request]) -> None:
        if requests:
            settled: list[tuple[_core.Request, Settled]] = []
            for request, outcome in processors.process(self._context, requests):
                if isinstance(outcome, Forward):
                    settled += self._forwarded.begin(request, outcome, now_ms=self._now_ms())
                else:
                    settled.append((request, outcome))
            self._settling.settle(settled)

    def _expire_clients(self) -> None:
        for connection in self._context.clients.expired(now_ms=self._now_ms()):
            _log.warning("client expired", connection=connection)
            self._context.close_client(connection)
            self._server.close_connection(connection)

    def _expire_leases(self) -> None:
        self._context.locks.expire(now_ms=self._now_ms())

    def _save_offsets(self) -> None:
        self._offsets.save(self._server)

    def _save_filters(self) -> None:
        self._context.filters.save()

    def _save_progress(self) -> None:
        # What was done is on disk before it is written down that it was.
        self._store.flush()
        self._transactions.close()
        self._delayed.save()

    def _close_store(self) -> None:
        self._store.close()
        done = self._store.statistics()
        _log.info("broker stopped", messages=done.messages_appended, bytes=done.bytes_appended, flushes=done.flushes)

    def _unregister(self) -> None:
        """Serves on until the name servers have answered, so that clients turn elsewhere before we stop."""
        self._registration.unregister()
        deadline_ms = self._now_ms() + UNREGISTER_WAIT_MS
        try:
            while self._registration.waiting() and self._now_ms() < deadline_ms:
                self._while_stopping()
                self._handle(self._server.next_batch(count_max=BATCH_COUNT_MAX, timeout_s=STOPPING_WAIT_S))
            while events := self._server.next_batch(count_max=BATCH_COUNT_MAX, timeout_s=0):
                self._handle(events)
            self._settling.release_all()
        except ServerClosed:
            _log.warning("the server was closed before the broker")


def _reply(event: _core.Response) -> Answer:
    return Answer(event.code, event.remark, event.ext_fields, bytes(event.body))
