"""Runs servers on this thread until the process is asked to stop."""

import contextlib
import math
import select
import signal
import socket
from collections.abc import Iterator, Sequence
from typing import Protocol


class Served(Protocol):
    """A server that does its work when it is asked to."""

    def fileno(self) -> int:
        """A descriptor that is readable while there is something to do."""

    def wait_ms(self) -> float:
        """How long nothing has to be done unless the descriptor says so."""

    def step(self) -> None:
        """Does what waits."""


def serve(servers: Sequence[Served]) -> None:
    """Serves until SIGTERM or SIGINT. To be called on the main thread."""
    with _stop_signals() as stop:
        wanted: list[int] = [*(server.fileno() for server in servers), stop]
        while True:
            wait_ms = min(server.wait_ms() for server in servers)
            ready, _, _ = select.select(wanted, [], [], None if math.isinf(wait_ms) else wait_ms / 1_000)
            if stop in ready:
                return
            for server in servers:
                server.step()


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
