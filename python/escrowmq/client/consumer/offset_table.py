"""How far a group is, as this member knows it, and what of that is not stored yet."""

import threading
from collections.abc import Collection

from escrowmq.model.message_queue import MessageQueue


class OffsetTable:
    """Offsets by queue. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._offsets: dict[MessageQueue, int] = {}
        self._stored: dict[MessageQueue, int] = {}

    def find(self, queue: MessageQueue) -> int | None:
        """What the group reads next of a queue."""
        return self._offsets.get(queue)

    def set(self, queue: MessageQueue, offset: int) -> None:
        """Sets it, forwards or back."""
        with self._lock:
            self._offsets[queue] = offset

    def loaded(self, queue: MessageQueue, offset: int) -> None:
        """Notes what is stored for a queue."""
        with self._lock:
            self._offsets[queue] = self._stored[queue] = offset

    def unstored(self, queues: Collection[MessageQueue] | None = None) -> dict[MessageQueue, int]:
        """What is to be stored; of these queues only, where some are given."""
        with self._lock:
            return {
                queue: offset
                for queue, offset in self._offsets.items()
                if self._stored.get(queue) != offset and (queues is None or queue in queues)
            }

    def stored(self, queue: MessageQueue, offset: int) -> None:
        """Notes that it is stored."""
        with self._lock:
            self._stored[queue] = offset

    def forget(self, queue: MessageQueue) -> None:
        """Forgets a queue that is somebody else's."""
        with self._lock:
            self._offsets.pop(queue, None)
            self._stored.pop(queue, None)

    def all(self) -> dict[MessageQueue, int]:
        """All offsets."""
        with self._lock:
            return dict(self._offsets)
