"""What was pulled of one queue and is not done: in what order it goes out, and how far the group is.

    pulled ──put──▶ waiting ──take──▶ taken: batches, first to last ──finish──▶ gone
                       ▲                 │
                       └──── give_back ──┘  (in order only)

The offset to commit is the first that is not done, whatever was done behind it. Batches are taken in the order of their
offsets, so the first batch that is not done says it. Every method may be called from any thread.
"""

import threading
from collections import deque
from collections.abc import Sequence

from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.model.message_queue import MessageQueue


class Batch:
    """Messages that a handler has."""

    __slots__ = ("is_done", "messages", "queue", "size_bytes")

    def __init__(self, queue: "ProcessQueue", messages: list[ReceivedMessage], size_bytes: int) -> None:
        self.queue = queue
        self.messages = messages
        self.size_bytes = size_bytes
        self.is_done = False
        """Whether it counts no more: its messages are done, or the queue begins anew somewhere else."""


class ProcessQueue:
    """One queue, from when it is this consumer's until it is not."""

    def __init__(self, queue: MessageQueue, next_offset: int) -> None:
        self.queue = queue
        self.is_dropped = False
        """Whether it is somebody else's now: what comes of it counts no more."""
        self.is_paused = False
        self._lock = threading.Lock()
        self._pull_claim: object | None = None
        self._is_handled = False
        self._next_offset = next_offset
        self._waiting: deque[ReceivedMessage] = deque()
        self._taken: deque[Batch] = deque()
        self._count = 0
        self._size_bytes = 0

    @property
    def next_offset(self) -> int:
        """Where to pull from next."""
        return self._next_offset

    @property
    def count(self) -> int:
        """Messages that are not done."""
        return self._count

    @property
    def size_bytes(self) -> int:
        """Bytes of their records."""
        return self._size_bytes

    @property
    def has_waiting(self) -> bool:
        """Whether there is something to take."""
        return bool(self._waiting)

    @property
    def has_taken(self) -> bool:
        """Whether a handler has something of it."""
        with self._lock:
            return bool(self._unfinished())

    @property
    def span(self) -> int:
        """How many offsets lie between the first message that is not done and the next one to be pulled."""
        return self._next_offset - self.offset_to_commit()

    def claim_pull(self) -> object | None:
        """A claim, if the caller may pull it: nobody else does until `release_pull`, or until it begins anew."""
        with self._lock:
            if self._pull_claim is not None:
                return None
            self._pull_claim = object()
            return self._pull_claim

    def release_pull(self, claim: object) -> bool:
        """Nobody pulls it; False if the claim counts no more."""
        with self._lock:
            if self._pull_claim is not claim:
                return False
            self._pull_claim = None
            return True

    def claim_handling(self) -> bool:
        """Whether the caller may handle it in order: nobody else does, until `release_handling`."""
        with self._lock:
            is_free, self._is_handled = not self._is_handled, True
            return is_free

    def release_handling(self) -> None:
        """Nobody handles it."""
        self._is_handled = False

    def put(self, messages: Sequence[ReceivedMessage], *, begin: int, next_offset: int) -> bool:
        """Takes in what a pull brought; False if the queue was dropped or moved since that was asked for."""
        size_bytes = sum([message.record.size_bytes for message in messages])
        with self._lock:
            if self.is_dropped or begin != self._next_offset:
                return False
            self._waiting.extend(messages)
            self._next_offset = next_offset
            self._count += len(messages)
            self._size_bytes += size_bytes
        return True

    def take(self, count_max: int) -> Batch | None:
        """The next messages, for a handler."""
        with self._lock:
            waiting = self._waiting
            if self.is_dropped or not waiting:
                return None
            messages = [waiting.popleft() for _ in range(min(count_max, len(waiting)))]
            batch = Batch(self, messages, sum([message.record.size_bytes for message in messages]))
            self._taken.append(batch)
            return batch

    def finish(self, batch: Batch) -> None:
        """All messages of a batch are done."""
        with self._lock:
            if batch.is_done:
                return
            batch.is_done = True
            self._count -= len(batch.messages)
            self._size_bytes -= batch.size_bytes
            self._unfinished()

    def keep(self, batch: Batch, messages: list[ReceivedMessage]) -> None:
        """Only these messages of a batch are not done."""
        left_bytes = sum([message.record.size_bytes for message in messages])
        with self._lock:
            if batch.is_done:
                return
            self._count -= len(batch.messages) - len(messages)
            self._size_bytes -= batch.size_bytes - left_bytes
            batch.messages, batch.size_bytes = messages, left_bytes

    def give_back(self, batch: Batch) -> None:
        """The messages of the only batch that is taken wait again, before all others."""
        with self._lock:
            if batch.is_done:
                return
            self._taken.remove(batch)
            self._waiting.extendleft(reversed(batch.messages))

    def offset_to_commit(self) -> int:
        """The first offset that is not done."""
        with self._lock:
            if taken := self._unfinished():
                return taken[0].messages[0].queue_offset
            return self._waiting[0].queue_offset if self._waiting else self._next_offset

    def offset_taken(self) -> int:
        """The first offset that nobody has taken."""
        with self._lock:
            return self._waiting[0].queue_offset if self._waiting else self._next_offset

    def restart(self, offset: int) -> None:
        """Begins anew at an offset; what is not done is forgotten, also when it gets done."""
        with self._lock:
            for batch in self._taken:
                batch.is_done = True
            self._taken.clear()
            self._waiting.clear()
            self._count = self._size_bytes = 0
            self._next_offset = offset
            # A pull that waits for messages at the old place may wait long.
            self._pull_claim = None

    def drop(self) -> None:
        """Ends it: nothing is taken in and nothing goes out any more. What handlers have may still be finished."""
        with self._lock:
            self.is_dropped = True
            dropped = len(self._waiting)
            self._count -= dropped
            # From here on the first message that nobody took is where somebody else goes on.
            if dropped:
                self._next_offset = self._waiting[0].queue_offset
            self._waiting.clear()

    def _unfinished(self) -> deque[Batch]:
        while self._taken and self._taken[0].is_done:
            self._taken.popleft()
        return self._taken
