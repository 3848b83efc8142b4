"""The queues that a member has at the moment, and how they change. Pure, but for a lock."""

import threading
from collections.abc import Collection

from msgspec import Struct

from escrowmq.client.consumer.process_queue import ProcessQueue
from escrowmq.model.message_queue import MessageQueue


class Changes(Struct, frozen=True):
    """What is to be given up, and what to be taken up."""

    lost: list[ProcessQueue]
    gained: list[MessageQueue]


class Holdings:
    """Process queues by queue. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: dict[MessageQueue, ProcessQueue] = {}

    def changes(self, topic: str, wanted: Collection[MessageQueue]) -> Changes:
        """What has to change so that a member has these queues of a topic."""
        with self._lock:
            held = {queue: held for queue, held in self._queues.items() if queue.topic == topic}
        chosen = frozenset(wanted)
        return Changes(
            lost=[held[queue] for queue in held if queue not in chosen],
            gained=[queue for queue in wanted if queue not in held],
        )

    def add(self, queue: ProcessQueue) -> None:
        """It is this member's now."""
        with self._lock:
            self._queues[queue.queue] = queue

    def remove(self, queue: ProcessQueue) -> None:
        """It is this member's no more."""
        queue.drop()
        with self._lock:
            if self._queues.get(queue.queue) is queue:
                del self._queues[queue.queue]

    def find(self, queue: MessageQueue) -> ProcessQueue | None:
        """What was pulled of a queue, if it is this member's."""
        return self._queues.get(queue)

    def all(self) -> list[ProcessQueue]:
        """All of them."""
        with self._lock:
            return list(self._queues.values())
