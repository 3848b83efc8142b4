"""The thread that serves, and a way for the test's thread to have things done on it: servers know one thread only."""

import contextlib
import math
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, Generic, TypeVar

from escrowmq.serving import Served, run

PATIENCE_S: Final = 30.0
"""Nothing that a test asks for takes as long, unless something is wrong."""

Result = TypeVar("Result")


class ServingThread:
    """Serves until it is closed. Only what is called on it may touch the servers."""

    def __init__(self) -> None:
        self._inbox = _Inbox()
        # The inbox comes last: what it waits for is looked at after the servers have done their work.
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
        return self._inbox.post(act, is_done=lambda _: True).result(PATIENCE_S)

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Waits until this holds after a step of the servers. Raises as `call` does."""
        self._inbox.post(is_so, is_done=lambda found: found).result(PATIENCE_S)

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
            self._inbox.fail(failure)


class _Inbox:
    """Things to do on the thread: each is done after every step, until what it returns is what is waited for."""

    def __init__(self) -> None:
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._lock = threading.Lock()
        self._posted: list[_Letter[Any]] = []
        self._failure: BaseException | None = None

    def post(self, act: Callable[[], Result], *, is_done: Callable[[Result], bool]) -> "Future[Result]":
        letter = _Letter(act, is_done)
        with self._lock:
            if self._failure is not None:
                raise RuntimeError("a server has failed, and nothing is served any more") from self._failure
            self._posted.append(letter)
        os.eventfd_write(self._bell, 1)
        return letter.result

    def fail(self, failure: BaseException) -> None:
        with self._lock:
            self._failure = failure
            for letter in self._posted:
                letter.result.set_exception(failure)

    def close(self) -> None:
        os.close(self._bell)

    def fileno(self) -> int:
        return self._bell

    def wait_ms(self) -> float:
        return math.inf

    def step(self) -> None:
        # Where it did not ring, another server had work to do, and what is waited for may have come about.
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._bell)
        with self._lock:
            posted, self._posted = self._posted, []
        left = [letter for letter in posted if not letter.is_settled()]
        with self._lock:
            self._posted[:0] = left


class _Letter(Generic[Result]):
    def __init__(self, act: Callable[[], Result], is_done: Callable[[Result], bool]) -> None:
        self._act = act
        self._is_done = is_done
        self.result: Future[Result] = Future()

    def is_settled(self) -> bool:
        try:
            found = self._act()
        except BaseException as error:  # noqa: BLE001 - it is for whoever posted
            self.result.set_exception(error)
            return True
        if self._is_done(found):
            self.result.set_result(found)
        return self.result.done()
