"""Which consumer of a group has which queue for itself: the leases of orderly consumption.

A client renews its leases every 20 s and trusts them for 30; here they live 60, so that no two clients have one.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from escrowmq.model.message_queue import MessageQueue

LEASE_MS: Final = 60_000
LEASES_MAX: Final = 100_000
"""Of all groups; beyond, no further queue is locked until leases end."""


class Lease(Struct, frozen=True):
    """A queue's owner, and when it last said so."""

    client_id: str
    renewed_at_ms: int


class QueueLocks:
    """Leases by group and queue."""

    def __init__(self, *, lease_ms: int = LEASE_MS) -> None:
        self._lease_ms = lease_ms
        self._leases: dict[str, dict[MessageQueue, Lease]] = {}
        self._count = 0

    def lock(self, group: str, queues: Iterable[MessageQueue], client_id: str, *, now_ms: int) -> list[MessageQueue]:
        """Leases queues to a client, or renews; those that it has now, others' not among them."""
        leases = self._leases.get(group, {})
        locked = []
        for queue in queues:
            lease = leases.get(queue)
            if lease is None:
                if self._count >= LEASES_MAX:
                    break
                self._count += 1
            if lease is None or lease.client_id == client_id or self._is_over(lease, now_ms):
                leases[queue] = Lease(client_id, now_ms)
                locked.append(queue)
        if leases:
            self._leases[group] = leases
        return locked

    def unlock(self, group: str, queues: Iterable[MessageQueue], client_id: str) -> None:
        """Ends a client's leases of queues; those of others stay."""
        leases = self._leases.get(group, {})
        for queue in queues:
            lease = leases.get(queue)
            if lease is not None and lease.client_id == client_id:
                del leases[queue]
                self._count -= 1
        if not leases:
            self._leases.pop(group, None)

    def has_locked(self, group: str, *, now_ms: int) -> bool:
        """Whether a client of a group has a queue for itself."""
        return any(not self._is_over(lease, now_ms) for lease in self._leases.get(group, {}).values())

    def expire(self, *, now_ms: int) -> None:
        """Forgets leases that are over: groups come and go, and memory must not grow with those that went."""
        for group, leases in list(self._leases.items()):
            live = {queue: lease for queue, lease in leases.items() if not self._is_over(lease, now_ms)}
            if live:
                self._leases[group] = live
            else:
                del self._leases[group]
        self._count = sum(map(len, self._leases.values()))

    def _is_over(self, lease: Lease, now_ms: int) -> bool:
        return now_ms - lease.renewed_at_ms > self._lease_ms
