"""A consumer as a member of its group: it joins, gets its queues, says how far it is, and goes.

    join ──▶ heartbeats, first round ──▶ rounds, offsets, locks from time to time ──▶ leave: offsets, locks, farewell

It hands messages to nobody; consumers do. Every method may be called from any thread.
"""

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

from escrowmq.client.connection import Client
from escrowmq.client.consumer.broker_requests import BrokerRequests
from escrowmq.client.consumer.holdings import Holdings
from escrowmq.client.consumer.local_offsets import offsets_file
from escrowmq.client.consumer.offset_stores import BrokerOffsets, FileOffsets, OffsetStore
from escrowmq.client.consumer.offset_table import OffsetTable
from escrowmq.client.consumer.options import ConsumerOptions
from escrowmq.client.consumer.process_queue import ProcessQueue
from escrowmq.client.consumer.puller import Puller
from escrowmq.client.consumer.queue_locks import QueueLocks
from escrowmq.client.consumer.rebalancing import Reading, Rebalancer
from escrowmq.client.consumer.repeating import Repeating
from escrowmq.client.consumer.start_place import rocketmq_name
from escrowmq.client.operation import Operation
from escrowmq.client.steps import pause
from escrowmq.model import names
from escrowmq.model.message_queue import MessageQueue
from escrowmq.model.subscription import BROADCASTING, Subscription
from escrowmq.protocol.bodies.heartbeat import ConsumerData

if TYPE_CHECKING:
    from escrowmq.client.registrations import Registration

_UNBALANCED_PAUSE_S: Final = 1.0
_JOIN_PAUSE_S: Final = 0.1
_JOIN_TRIES: Final = 20
_LEAVE_PAUSE_S: Final = 0.02


class Member:
    """One member, from `join` to `leave`."""

    def __init__(
        self,
        client: Client,
        group: str,
        options: ConsumerOptions,
        *,
        consume_type: str,
        progress: Callable[[ProcessQueue], int | None],
        locks_interval_s: float | None = None,
        brings_subscription: bool = False,
    ) -> None:
        """Makes one that has joined nothing yet.

        Args:
            client: What asks.
            group: The group.
            options: How it is set up.
            consume_type: What heartbeats call it.
            progress: How far the group is in a queue; None where there is nothing to say.
            locks_interval_s: How often locks are renewed, where queues are locked at all.
            brings_subscription: Whether a pull says itself what it wants, as one without heartbeats has to.
        """
        requests = BrokerRequests(client, group, timeout_s=options.request_timeout_s)
        self.reading = Reading(
            client=client,
            group=group,
            options=options,
            requests=requests,
            store=_store(client, group, options, requests),
            offsets=OffsetTable(),
            holdings=Holdings(),
            progress=progress,
            locks=None if locks_interval_s is None else QueueLocks(requests),
        )
        self.subscriptions: dict[str, Subscription] = {}
        self.puller = Puller(
            client,
            group,
            options,
            progress=progress,
            subscription=self.subscriptions.__getitem__,
            may_pull=self._may_pull,
            arrived=self._tell,
            moved=self.move,
            brings_subscription=brings_subscription,
        )
        self.arrived: Callable[[ProcessQueue, int], None] = _nowhere
        """What is told of messages that have come."""
        self.unlocked: Callable[[ProcessQueue], None] = _ignore
        """What is told of queues that are locked, again or still."""
        self.started_ms = time.time_ns() // 1_000_000
        self.consume_type = consume_type
        self._locks_interval_s = locks_interval_s or 0.0
        self._rebalancer = Rebalancer(
            self.reading,
            topics=lambda: list(self.subscriptions),
            started_ms=self.started_ms,
            gained=self.puller.wake,
        )
        self._rounds = Repeating(client, self._round, pause_s=_UNBALANCED_PAUSE_S)
        self._persisting = Repeating(client, self._persist, pause_s=options.persist_interval_s)
        self._locking = Repeating(client, self._renew_locks, pause_s=options.persist_interval_s)
        self._registration: Registration | None = None
        self._is_joined = False

    def join(self) -> Operation[None]:
        """Tells the brokers of itself, and divides the queues for the first time.

        The first round is done when this is: what is sent from now on is read, also by a group that begins at the end.
        """
        client = self.reading.client
        self._registration = client.register_consumer(self.reading.group, self._data)
        for _ in range(_JOIN_TRIES):
            if (yield from self._rebalancer.round()):
                break
            yield from pause(_JOIN_PAUSE_S)
        # Nobody else may divide queues before: two rounds at a time would take up a queue twice.
        self._is_joined = True
        self._rounds.later(_UNBALANCED_PAUSE_S)
        self._persisting.later(self.reading.options.persist_interval_s)
        if self.reading.locks is not None:
            self._locking.later(self._locks_interval_s)

    def hold(self, queues: Collection[MessageQueue]) -> Operation[None]:
        """Reads these queues and no others; nobody is told that it is there.

        Raises:
            EscrowError: A broker does not say where to begin.
        """
        yield from self._rebalancer.hold(queues)
        self._persisting.later(self.reading.options.persist_interval_s)

    def stop(self) -> None:
        """Reads no more: what was not handed out yet is forgotten, what was may still be done."""
        for work in (self._rounds, self._persisting, self._locking):
            work.stop()
        self.puller.stop()
        for queue in self.reading.holdings.all():
            queue.drop()

    def leave(self) -> Operation[None]:
        """Stores offsets, gives the queues to the others and says farewell."""
        while self._rounds.is_running or self._persisting.is_running or self._locking.is_running:
            yield from pause(_LEAVE_PAUSE_S)
        yield from self._rebalancer.give_up_all()
        if self._registration is not None:
            yield from self._registration.closing()

    def rebalance(self) -> None:
        """Divides the queues anew, since somebody came or went."""
        if self._is_joined:
            self._rounds.soon()

    def wanted(self, subscription: Subscription) -> None:
        """Wants something of a topic, from now on."""
        self.subscriptions[subscription.topic] = subscription
        if self._is_joined:
            self.reading.client.beat()
            self._rounds.soon()

    def move(self, queue: ProcessQueue, offset: int, *, stores: bool = True) -> None:
        """Has a queue go on somewhere else, whatever is known of it."""
        queue.restart(offset)
        if stores:
            self.reading.offsets.set(queue.queue, offset)
            self._persisting.soon()
        self.puller.wake(queue)

    def persist(self) -> Operation[None]:
        """Stores how far the group is."""
        yield from self._persist()

    @property
    def assignment(self) -> list[MessageQueue]:
        """The queues that it has."""
        return [queue.queue for queue in self.reading.holdings.all()]

    @property
    def fetched_count(self) -> int:
        """Messages that were pulled and are not done."""
        return sum(queue.count for queue in self.reading.holdings.all())

    def _tell(self, queue: ProcessQueue, count: int) -> None:
        self.arrived(queue, count)

    def _may_pull(self, queue: ProcessQueue) -> bool:
        return self.reading.locks is None or self.reading.locks.has(queue.queue)

    def _data(self) -> ConsumerData:
        options = self.reading.options
        return ConsumerData(
            group=self.reading.group,
            consume_type=self.consume_type,
            message_model=BROADCASTING if options.is_broadcasting else "CLUSTERING",
            consume_from_where=rocketmq_name(options.start),
            subscriptions=list(self.subscriptions.values()),
        )

    def _round(self) -> Operation[float]:
        is_balanced = yield from self._rebalancer.round()
        return self.reading.options.rebalance_interval_s if is_balanced else _UNBALANCED_PAUSE_S

    def _persist(self) -> Operation[float]:
        reading = self.reading
        for queue in reading.holdings.all():
            if (offset := reading.progress(queue)) is not None:
                reading.offsets.set(queue.queue, offset)
        yield from reading.store.save(reading.offsets, reading.offsets.unstored())
        return reading.options.persist_interval_s

    def _renew_locks(self) -> Operation[float]:
        reading = self.reading
        if reading.locks is not None:
            locked = yield from reading.locks.acquire([queue.queue for queue in reading.holdings.all()])
            for queue in reading.holdings.all():
                if queue.queue in locked:
                    self.puller.wake(queue)
                    self.unlocked(queue)
        return self._locks_interval_s


def retry_subscription(group: str) -> Subscription:
    """What every member wants beside its topics: what the group failed to consume."""
    return Subscription(topic=names.retry_topic(group))


def _store(client: Client, group: str, options: ConsumerOptions, requests: BrokerRequests) -> OffsetStore:
    if not options.is_broadcasting:
        return BrokerOffsets(requests)
    host = client.client_id.partition("@")[0]
    # Compat: RocketMQ's broadcasting clients have no process in their name, so that a restarted one finds its file.
    name = f"{host}@{options.instance_name}"
    return FileOffsets(client, offsets_file(options.offsets_folder.expanduser(), name, group))


def _nowhere(_queue: ProcessQueue, _count: int) -> None:
    """Nobody is there yet."""


def _ignore(_queue: ProcessQueue) -> None:
    """Nobody waits for it."""
