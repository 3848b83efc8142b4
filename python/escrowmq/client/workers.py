"""Threads that run what users wrote, or anything else that waits: a bounded number, made when there is work.

They are daemons: a function that never returns holds up neither `close` nor the end of the process.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Final, TypeAlias

from escrowmq.errors import ServerClosed

_LOG: Final = logging.getLogger("escrowmq.client")
_CLOSE_MAX_S: Final = 1.0

_Task: TypeAlias = tuple[Callable[[], None], Callable[[ServerClosed], None]]


class Workers:
    """Runs functions; more than there are threads wait their turn."""

    def __init__(self, count_max: int) -> None:
        self._count_max = count_max
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._open_tasks = 0
        self._is_closed = False

    def submit(self, task: Callable[[], None], *, dropped: Callable[[ServerClosed], None]) -> None:
        """Has it run, or, after `close`, whoever waits told that it will not be."""
        with self._lock:
            is_closed = self._is_closed
            if not is_closed:
                self._add(task, dropped)
        if is_closed:
            dropped(ServerClosed("the client was closed"))

    def close(self) -> None:
        """Ends the threads. One whose function does not return within a second is left behind until it does."""
        with self._lock:
            self._is_closed = True
            threads = list(self._threads)
        for _ in threads:
            self._tasks.put(None)
        until_s = time.monotonic() + _CLOSE_MAX_S
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, until_s - time.monotonic()))

    def _add(self, task: Callable[[], None], dropped: Callable[[ServerClosed], None]) -> None:
        self._open_tasks += 1
        if self._open_tasks > len(self._threads) and len(self._threads) < self._count_max:
            name = f"escrowmq-client-worker-{len(self._threads)}"
            thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()
        self._tasks.put((task, dropped))

    def _run(self) -> None:
        while (entry := self._tasks.get()) is not None:
            task, dropped = entry
            try:
                if self._is_closed:
                    dropped(ServerClosed("the client was closed"))
                else:
                    task()
            except Exception:  # noqa: BLE001 - it is logged, and the thread goes on
                _LOG.exception("a worker's task has failed")
            finally:
                with self._lock:
                    self._open_tasks -= 1
