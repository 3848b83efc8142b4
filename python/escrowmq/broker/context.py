"""What the handlers of the broker work on."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from escrowmq.broker.client_registry import ClientRegistry
from escrowmq.broker.consumer_filters import ConsumerFilters
from escrowmq.broker.delivery.levels import DelayLevels
from escrowmq.broker.locks import QueueLocks
from escrowmq.broker.outcome import Notice
from escrowmq.broker.ports import DelayedMessages, Log, MessageStore, OffsetTable, Statistics, TimedMessages
from escrowmq.broker.settings import Settings
from escrowmq.broker.snapshot import FastLane, Snapshots
from escrowmq.broker.stamp import Stamp
from escrowmq.broker.subscriptions import SubscriptionGroups
from escrowmq.broker.topics import Topics
from escrowmq.model.data_version import DataVersion
from escrowmq.transaction.room import Room

HEADER_SIZE_MAX_BYTES: Final = 64 * 1024
"""What is left of a frame for everything but the body of an answer."""


@dataclass
class Context:
    """Tables, a name and clocks. Only one thread uses it."""

    broker_name: str
    address: str
    settings: Settings
    stamp: Stamp
    levels: DelayLevels
    topics: Topics
    groups: SubscriptionGroups
    clients: ClientRegistry
    filters: ConsumerFilters
    locks: QueueLocks
    offsets: OffsetTable
    # What the fast lane was told, and the fast lane: whoever deletes takes the thing from it first.
    snapshots: Snapshots
    fast_lane: FastLane
    store: MessageStore
    log: Log
    delayed: DelayedMessages
    statistics: Statistics
    # None where messages may have no time of their own.
    timers: TimedMessages | None
    transactions: Room
    now_ms: Callable[[], int]
    wall_ms: Callable[[], int]
    offsets_version: Callable[[], DataVersion]
    # Where the log ends, be it durable or not.
    log_end: Callable[[], int]
    # Has the offsets on disk when it returns.
    save_offsets: Callable[[], None]
    # Where any queue will do.
    random: Random = field(default_factory=Random)
    # Consumer groups whose members have to be told that the group has changed, when the batch is answered.
    groups_to_tell: set[str] = field(default_factory=set)
    # Requests of ours that go to clients when the batch is answered.
    notices: list[Notice] = field(default_factory=list)

    def close_client(self, connection: int) -> None:
        """Forgets a connection: its groups are told, and filters of those without members are dead."""
        for group in self.clients.close(connection):
            self.groups_to_tell.add(group)
            self.bury_filters(group)

    def bury_filters(self, group: str) -> None:
        """Notes that filters are dead if their group has no members any more."""
        if self.clients.consumer_group(group) is None:
            self.filters.unregister(group)

    @property
    def answer_size_max_bytes(self) -> int:
        """The largest body of an answer: its header has to fit into the frame too."""
        return self.settings.broker.frame_size_max_bytes - HEADER_SIZE_MAX_BYTES
