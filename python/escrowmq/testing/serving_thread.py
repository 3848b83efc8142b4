"""The thread that serves, and a way for the test's thread to have things done on it: servers know one thread only."""

import os
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from escrowmq.serving import Inbox, Served, run

PATIENCE_S: Final = 30.0
"""Nothing that a test asks for takes as long, unless something is wrong."""

Result = TypeVar("Result")


class ServingThread:
    """Serves until it is closed. Only what is called on it may touch the servers."""

    def __init__(self) -> None:
        self._inbox = Inbox()
        self._served: list[Served] = [self._inbox]
        self._stop = os.eventfd(0, os.EFD_CLOEXEC)
        self._thread = threading.Thread(target=self._run, name="escrowmq-testing", daemon=True)
        self._thread.start()

    @property
    def servers(self) -> list[Served]:
        """What it serves."""
        return self._served[:-1]

    def add(self, server: Served) -> None:
        """Serves this too. To be called on the thread itself."""
        self._served.insert(-1, server)

    def remove(self, server: Served) -> None:
        """Does not serve this any more. To be called on the thread itself."""
        self._served.remove(server)

    def call(self, act: Callable[[], Result]) -> Result:
        """Has this done between two steps of the servers, and returns what it returns.

        Raises:
            RuntimeError: A server has failed, and nothing is served any more.
            TimeoutError: The servers are busy with something else.
        """
        return self._inbox.call(act, timeout_s=PATIENCE_S)

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Waits until this holds after a step of the servers. Raises as `call` does."""
        self._inbox.wait_until(is_so, timeout_s=PATIENCE_S)

    def close(self) -> None:
        """Ends the thread; its servers are closed before."""
        os.eventfd_write(self._stop, 1)
        self._thread.join(PATIENCE_S)
        os.close(self._stop)
        self._inbox.close()

    def _run(self) -> None:
        try:
            run(self._served, stop=self._stop)
        except BaseException as failure:  # noqa: BLE001 - whoever waits, or calls next, is told
            self._inbox.end(failure)
