"""Handlers on threads: as many as there is work for, up to a bound, and none before there is any.

The threads are daemons. A handler that never returns can't be stopped from outside: it must not keep the
process either.
"""

import threading
import time
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue

from escrowmq.client.consumer.process_queue import Batch
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.client.consumer.running import Handler, Said, call


class ThreadRunner:
    """A pool for one handler."""

    def __init__(self, handler: Handler, *, name: str, threads_max: int) -> None:
        self._handler = handler
        self._name = name
        self._threads_max = threads_max
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._is_closed = False

    def submit(self, take: Callable[[], Batch | None], settle: Callable[[Batch, Said], None]) -> None:
        """Calls the handler with what `take` gives when it is this one's turn."""
        self._put(partial(self._run, take, settle))

    def submit_one(self, message: ReceivedMessage, settle: Callable[[Said], None]) -> None:
        """Calls the handler with one message that belongs to no queue."""
        self._put(lambda: settle(call(self._handler, [message])))

    def close(self, *, timeout_s: float) -> bool:
        """Waits until handlers have returned; whether all have. What has not begun, does not begin."""
        with self._lock:
            self._is_closed = True
            threads = list(self._threads)
        for _ in threads:
            self._tasks.put(None)
        until_s = time.monotonic() + timeout_s
        for thread in threads:
            # A handler may close its own consumer.
            if thread is not threading.current_thread():
                thread.join(max(0.0, until_s - time.monotonic()))
        return not any(thread.is_alive() for thread in threads if thread is not threading.current_thread())

    def _put(self, task: Callable[[], None]) -> None:
        self._tasks.put(task)
        if self._idle.acquire(blocking=False):
            return
        with self._lock:
            if len(self._threads) < self._threads_max and not self._is_closed:
                name = f"{self._name}-{len(self._threads)}"
                thread = threading.Thread(target=self._work, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None and not self._is_closed:
            task()
            self._idle.release()

    def _run(self, take: Callable[[], Batch | None], settle: Callable[[Batch, Said], None]) -> None:
        batch = take()
        if batch is not None:
            settle(batch, call(self._handler, batch.messages))
