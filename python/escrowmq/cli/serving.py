"""Runs servers on this thread until the process is asked to stop."""

import contextlib
import math
import resource
import select
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol


class Served(Protocol):
    """A server that does its work when it is asked to."""

    def fileno(self) -> int:
        """A descriptor that is readable while there is something to do."""

    def wait_ms(self) -> float:
        """How long nothing has to be done unless the descriptor says so."""

    def step(self) -> None:
        """Does what waits."""


def serve(servers: Sequence[Served], *, until: Callable[[], bool] = lambda: False) -> bool:
    """Serves until SIGTERM or SIGINT, or until something is so; whether it is. To be called on the main thread."""
    with _stop_signals() as stop:
        # Not select(), which knows no descriptors above 1,023: a store with many files may have taken those.
        ready = select.poll()
        for descriptor in (*(server.fileno() for server in servers), stop):
            ready.register(descriptor, select.POLLIN)
        while True:
            wait_ms = min(server.wait_ms() for server in servers)
            if stop in dict(ready.poll(None if math.isinf(wait_ms) else wait_ms)):
                return False
            for server in servers:
                server.step()
            if until():
                return True


def take_all_descriptors() -> None:
    """Lets this process have as many descriptors as it may. Every connection takes one, and often few are given."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@contextlib.contextmanager
def _stop_signals() -> Iterator[int]:
    """A descriptor that becomes readable when the process is asked to stop, so that nothing has to poll."""
    receiver, sender = socket.socketpair()
    with receiver, sender:
        sender.settimeout(0)
        before = {number: signal.signal(number, _do_nothing) for number in (signal.SIGTERM, signal.SIGINT)}
        waker = signal.set_wakeup_fd(sender.fileno())
        try:
            yield receiver.fileno()
        finally:
            signal.set_wakeup_fd(waker)
            for number, handler in before.items():
                signal.signal(number, handler)


def _do_nothing(_number: int, _frame: object) -> None:
    """The wake-up descriptor tells; without a handler the process would end at once."""
