"""How much the broker did, and how it is: what is counted anyway, noted every ten seconds, in RocketMQ's words."""

import json
import os
from collections.abc import Mapping

from escrowmq import _core
from escrowmq.broker import queue_facts
from escrowmq.broker.delivery.levels import queue_of
from escrowmq.broker.ports import DelayedMessages
from escrowmq.broker.runtime_info import RuntimeFacts, runtime_info
from escrowmq.broker.traffic_statistics import Amounts, TrafficStatistics
from escrowmq.broker.work_statistics import Work, WorkStatistics
from escrowmq.model import names


class Statistics:
    """What came and went lately, and what a broker says of itself."""

    def __init__(
        self,
        store: _core.Store,
        server: _core.BrokerServer,
        delayed: DelayedMessages,
        timers: _core.Timers | None,
        *,
        cluster: str,
        clock: _core.Clock,
    ) -> None:
        self._store = store
        self._server = server
        self._delayed = delayed
        self._timers = timers
        self._wall_ms = clock.wall_ms
        self._booted_at_ms = clock.wall_ms()
        self._traffic = TrafficStatistics(server, cluster=cluster, now_ms=clock.monotonic_ms)
        self._work = WorkStatistics(self._read_work, now_ms=clock.monotonic_ms, wall_ms=clock.wall_ms)

    def sample(self) -> None:
        """Notes how far everything is."""
        self._traffic.sample()
        self._work.sample()

    def find(self, name: str, key: str) -> Amounts | None:
        """How much there was of something lately; None where there never was any."""
        return self._traffic.find(name, key)

    def put_per_s(self, topic: str) -> float:
        """Messages that came in for a topic each second of the last minute."""
        return self._traffic.put_per_s(topic)

    def got_per_s(self, group: str, topic: str) -> float:
        """Messages of a topic that went out to a group each second of the last minute."""
        return self._traffic.got_per_s(group, topic)

    def runtime_info(self) -> dict[str, str]:
        """How the broker is, under RocketMQ's keys."""
        return runtime_info(self._facts(), self._work)

    def _read_work(self) -> Work:
        lane = self._server.fast_lane_statistics()
        timers = self._timers.statistics() if self._timers is not None else None
        return Work(
            messages_put=self._store.statistics().messages_appended,
            pulls_found=lane.pulls_found,
            pulls_missed=lane.pulls - lane.pulls_found,
            messages_got=lane.messages_pulled,
            timers_taken_in=timers.taken_in if timers is not None else 0,
            timers_delivered=timers.delivered if timers is not None else 0,
        )

    def _facts(self) -> RuntimeFacts:
        numbers, disk = self._store.statistics(), os.statvfs(self._store.path)
        return RuntimeFacts(
            booted_at_ms=self._booted_at_ms,
            now_ms=self._wall_ms(),
            log_start=numbers.log_start,
            log_end=numbers.log_end,
            durable_end=numbers.durable_end,
            visible_end=numbers.visible_end,
            first_stored_at_ms=queue_facts.oldest_stored_at_ms(self._store),
            disk_used_ratio=numbers.disk_used_ratio,
            disk_total_bytes=disk.f_blocks * disk.f_frsize,
            # Compat: with what is kept for root.
            disk_free_bytes=disk.f_bfree * disk.f_frsize,
            store_path=str(self._store.path),
            bytes_put=numbers.bytes_appended,
            puts_failed=self._server.fast_lane_statistics().sends_refused,
            requests_waiting=self._server.statistics().requests_waiting,
            delays=self._delays(),
            timers_waiting=self._timers_waiting(),
        )

    def _timers_waiting(self) -> int:
        """Messages that wait for a time of their own."""
        if self._timers is None:
            return 0
        return sum(waiting["count"] for waiting in json.loads(self._timers.metrics())["timingCount"].values())

    def _delays(self) -> Mapping[int, tuple[int, int]]:
        """Of each level of delays that was used: how far it is delivered, and where its queue ends."""
        return {
            level: (offset, queue_facts.bounds(self._store, names.SCHEDULE_TOPIC, queue_of(level))[1])
            for level, offset in sorted(self._delayed.offsets().offsets.items())
        }
