"""Runs servers on the thread that calls: each has a descriptor to wait for, and does its work when it is asked to."""

import math
import select
from collections.abc import Sequence
from typing import Protocol


class Served(Protocol):
    """A server that does its work when it is asked to."""

    def fileno(self) -> int:
        """A descriptor that is readable while there is something to do."""

    def wait_ms(self) -> float:
        """How long nothing has to be done unless the descriptor says so."""

    def step(self) -> None:
        """Does what waits."""


def run(servers: Sequence[Served], *, stop: int) -> None:
    """Serves until the descriptor `stop` is readable. Servers may come and go meanwhile."""
    while True:
        poll = select.poll()
        for descriptor in [stop, *(server.fileno() for server in servers)]:
            poll.register(descriptor, select.POLLIN)
        wait_ms = min((server.wait_ms() for server in servers), default=math.inf)
        ready = poll.poll(None if math.isinf(wait_ms) else wait_ms)
        if any(descriptor == stop for descriptor, _ in ready):
            return
        for server in tuple(servers):
            server.step()
