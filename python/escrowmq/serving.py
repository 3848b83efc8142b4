"""Runs servers on the thread that calls: each has a descriptor to wait for, and does its work when it is asked to.

Servers know one thread only. Whoever on another thread wants to know something of them posts it to an `Inbox` that is
served beside them.
"""

import contextlib
import math
import os
import select
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Generic, Protocol, TypeVar

Result = TypeVar("Result")


class Served(Protocol):
    """A server that does its work when it is asked to."""

    def fileno(self) -> int:
        """A descriptor that is readable while there is something to do."""

    def wait_ms(self) -> float:
        """How long nothing has to be done unless the descriptor says so."""

    def step(self) -> None:
        """Does what waits."""


def run(servers: Sequence[Served], *, stop: int, until: Callable[[], bool] = lambda: False) -> bool:
    """Serves until something is so, or the descriptor `stop` is readable; whether it is so. Servers may come and go."""
    while not until():
        poll = select.poll()
        for descriptor in [stop, *(server.fileno() for server in servers)]:
            poll.register(descriptor, select.POLLIN)
        wait_ms = min((server.wait_ms() for server in servers), default=math.inf)
        ready = poll.poll(None if math.isinf(wait_ms) else wait_ms)
        if any(descriptor == stop for descriptor, _ in ready):
            return False
        for server in tuple(servers):
            server.step()
    return True


class Inbox:
    """Things to do on the thread that serves: each is done after every step, until it returns what is waited for.

    It comes last among what is served: then it sees what the others have done.
    """

    def __init__(self) -> None:
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._lock = threading.Lock()
        self._posted: list[_Letter[Any]] = []
        self._failure: BaseException | None = None

    def call(self, act: Callable[[], Result], *, timeout_s: float) -> Result:
        """Has this done on the thread that serves, and returns what it returns.

        Raises:
            TimeoutError: The thread is busy with something else.
            RuntimeError: Nothing is served any more.
        """
        return self._wait(act, is_done=lambda _: True, timeout_s=timeout_s)

    def wait_until(self, is_so: Callable[[], bool], *, timeout_s: float) -> None:
        """Waits until this holds after a step of the servers. Raises as `call` does."""
        self._wait(is_so, is_done=lambda found: found, timeout_s=timeout_s)

    def end(self, failure: BaseException) -> None:
        """Nothing is served any more, for this reason: whoever waits is told, and whoever comes after."""
        with self._lock:
            self._failure = failure
            for letter in self._posted:
                letter.fail(failure)

    def close(self) -> None:
        """Gives its descriptor back."""
        os.close(self._bell)

    def fileno(self) -> int:
        """A descriptor that is readable while there is something to do."""
        return self._bell

    def wait_ms(self) -> float:
        """Nothing has to be done until the descriptor says so."""
        return math.inf

    def step(self) -> None:
        """Does what was posted."""
        # Where it did not ring, another server had work to do, and what is waited for may have come about.
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._bell)
        with self._lock:
            posted, self._posted = self._posted, []
        left = [letter for letter in posted if not letter.is_settled()]
        with self._lock:
            self._posted[:0] = left

    def _wait(self, act: Callable[[], Result], *, is_done: Callable[[Result], bool], timeout_s: float) -> Result:
        letter = _Letter(act, is_done)
        with self._lock:
            if self._failure is not None:
                raise RuntimeError("nothing is served any more") from self._failure
            self._posted.append(letter)
        os.eventfd_write(self._bell, 1)
        try:
            return letter.result.result(timeout_s)
        finally:
            # Who has given up must not leave it to a thread that has enough to do.
            letter.result.cancel()


class _Letter(Generic[Result]):
    def __init__(self, act: Callable[[], Result], is_done: Callable[[Result], bool]) -> None:
        self._act = act
        self._is_done = is_done
        self.result: Future[Result] = Future()

    def is_settled(self) -> bool:
        if self.result.cancelled():
            return True
        try:
            found = self._act()
        except BaseException as error:  # noqa: BLE001 - it is for whoever posted
            self.fail(error)
            return True
        if not self._is_done(found):
            return False
        if self.result.set_running_or_notify_cancel():
            self.result.set_result(found)
        return True

    def fail(self, error: BaseException) -> None:
        if self.result.set_running_or_notify_cancel():
            self.result.set_exception(error)
