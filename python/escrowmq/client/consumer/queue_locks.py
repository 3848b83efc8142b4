"""Which queues a member has for itself, as long as it handles them in order. Brokers lend them for a minute."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable
from itertools import groupby
from typing import Final

from escrowmq.client.consumer.broker_requests import BrokerRequests
from escrowmq.client.operation import Operation
from escrowmq.errors import EscrowError
from escrowmq.model.message_queue import MessageQueue

_LOG: Final = logging.getLogger("escrowmq.client")

VALID_S: Final = 30.0
"""How long a lock counts that was not renewed: half of what the broker gives, so that nobody else has it by then."""


class QueueLocks:
    """Locks of one group. Every method may be called from any thread."""

    def __init__(self, requests: BrokerRequests, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._requests = requests
        self._now_s = now_s
        self._lock = threading.Lock()
        self._locked_s: dict[MessageQueue, float] = {}

    def has(self, queue: MessageQueue) -> bool:
        """Whether a queue is this member's alone."""
        locked_s = self._locked_s.get(queue)
        return locked_s is not None and self._now_s() - locked_s < VALID_S

    def acquire(self, queues: Collection[MessageQueue]) -> Operation[set[MessageQueue]]:
        """Locks queues, or renews their locks; those that are locked now."""
        locked: set[MessageQueue] = set()
        for broker_name, wanted in _by_broker(queues):
            # What the broker gives counts from when it was asked.
            asked_s = self._now_s()
            try:
                given = yield from self._requests.lock(broker_name, wanted)
            except EscrowError as error:
                _LOG.warning("queues can't be locked: broker %s, error %s", broker_name, error)
                continue
            locked.update(given)
            with self._lock:
                for queue in wanted:
                    if queue in locked:
                        self._locked_s[queue] = asked_s
                    else:
                        self._locked_s.pop(queue, None)
        return locked

    def release(self, queues: Collection[MessageQueue]) -> Operation[None]:
        """Unlocks queues; where that fails, their locks expire."""
        with self._lock:
            for queue in queues:
                self._locked_s.pop(queue, None)
        for broker_name, unwanted in _by_broker(queues):
            try:
                yield from self._requests.unlock(broker_name, unwanted)
            except EscrowError as error:
                _LOG.warning("queues can't be unlocked: broker %s, error %s", broker_name, error)


def _by_broker(queues: Iterable[MessageQueue]) -> list[tuple[str, list[MessageQueue]]]:
    in_order = sorted(queues, key=lambda queue: queue.broker_name)
    return [(name, list(group)) for name, group in groupby(in_order, key=lambda queue: queue.broker_name)]
