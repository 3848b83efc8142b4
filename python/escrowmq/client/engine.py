"""What steps are carried out with: one epoll thread in Rust and one thread here, whatever is in flight.

It lives from a client's first use to its close, and never in a process that was forked off.
"""

import logging
import os
import select
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from escrowmq._core import Caller, ConnectionClosed, Limits, Request, Server
from escrowmq.client.deadlines import Deadlines
from escrowmq.client.loop_mail import LoopMails
from escrowmq.client.mail import Mail
from escrowmq.client.peers import Peers
from escrowmq.client.workers import Workers
from escrowmq.errors import ServerClosed

_LOG: Final = logging.getLogger("escrowmq.client")
_BATCH_MAX: Final = 512
_CLOSE_MAX_S: Final = 3.0
_LONGEST_SLEEP_S: Final = 3_600.0


class Engine:
    """Connections, timers and workers, and the thread that tells what came of steps."""

    def __init__(
        self,
        *,
        connect_timeout_s: float,
        workers_max: int,
        requested: Callable[[Request, Server], None],
        closed: Callable[[str], None],
    ) -> None:
        """Starts both threads.

        Args:
            connect_timeout_s: How long connecting may take.
            workers_max: Most functions of users that run at a time.
            requested: Told of requests of peers, on the dispatch thread.
            closed: Told of addresses whose connection has ended, on the dispatch thread.
        """
        self._server = Caller.start(limits=Limits(connect_timeout_s=connect_timeout_s))
        self._requested = requested
        self._closed = closed
        self._posted: deque[Callable[[], None]] = deque()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._is_over = False
        # Held while something is posted, so that nothing is posted that nobody does.
        self._lock = threading.Lock()
        self.deadlines: Final = Deadlines(self.wake)
        self.peers: Final = Peers(self._server)
        self.mail: Final = Mail()
        self.loop_mails: Final = LoopMails()
        self.workers: Final = Workers(workers_max)
        self._thread = threading.Thread(target=self._run, name="escrowmq-client", daemon=True)
        self._thread.start()

    @property
    def server(self) -> Server:
        """The native end, for answers to requests."""
        return self._server

    @property
    def is_own_thread(self) -> bool:
        """Whether this is the dispatch thread, which must not wait."""
        return threading.current_thread() is self._thread

    def post(self, task: Callable[[], None]) -> None:
        """Has a task run on the dispatch thread, soon."""
        with self._lock:
            is_over = self._is_over
            if not is_over:
                self._posted.append(task)
                if not self.is_own_thread:
                    os.eventfd_write(self._wake, 1)
        if is_over:
            # Whatever it tries fails at once, and whoever waits for it is told.
            self._guarded(task)

    def wake(self) -> None:
        """Has the dispatch thread look what there is to do."""
        with self._lock:
            if not self._is_over:
                os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """Ends all threads. What is open fails with `ServerClosed`; a worker that does not return is left behind."""
        self._server.close(timeout_s=0.5)
        self.wake()
        if not self.is_own_thread:
            self._thread.join(_CLOSE_MAX_S)
        self.workers.close()

    def _run(self) -> None:
        waiter = select.poll()
        waiter.register(self._server.fileno(), select.POLLIN)
        waiter.register(self.mail.replies.fileno(), select.POLLIN)
        waiter.register(self._wake, select.POLLIN)
        try:
            while True:
                events = self._server.next_batch(count_max=_BATCH_MAX, timeout_s=0)
                for event in events:
                    if type(event) is ConnectionClosed:
                        self._guarded(partial(self._closed, self.peers.ended(event)))
                    elif type(event) is Request:
                        self._guarded(partial(self._requested, event, self._server))
                self.mail.deliver()
                self._do_what_is_due()
                if not events and not self._posted:
                    self._sleep(waiter)
        except ServerClosed:
            pass
        finally:
            self._end()

    def _do_what_is_due(self) -> None:
        for task in self.deadlines.due():
            self._guarded(task)
        for _ in range(len(self._posted)):
            self._guarded(self._posted.popleft())

    def _sleep(self, waiter: select.poll) -> None:
        wait_s = min(self.deadlines.wait_s(), _LONGEST_SLEEP_S)
        # Whoever posted before it knew that this thread sleeps has written to `_wake`.
        if self._posted:
            return
        for descriptor, _ in waiter.poll(wait_s * 1_000):
            if descriptor == self._wake:
                os.eventfd_read(self._wake)

    def _end(self) -> None:
        self.mail.deliver()
        self.loop_mails.close()
        self.deadlines.close()
        # What is told of this may go on for some steps, all of which fail.
        while True:
            with self._lock:
                if not self._posted:
                    self._is_over = True
                    os.close(self._wake)
                    return
            self._guarded(self._posted.popleft())

    def _guarded(self, task: Callable[[], None]) -> None:
        """Nothing that a task does may end the thread that everybody depends on."""
        try:
            task()
        except Exception:  # noqa: BLE001 - it is logged, and the thread goes on
            _LOG.exception("a task of the client has failed")
