"""The thread that serves for a test, when something goes wrong."""

import math
import os
from collections.abc import Iterator

import pytest

from escrowmq.testing.serving_thread import ServingThread


class Server:
    """Counts its steps, and fails when it is told to."""

    def __init__(self) -> None:
        self._descriptor = os.eventfd(0)
        self.steps = 0
        self.failure: Exception | None = None

    def fileno(self) -> int:
        return self._descriptor

    def wait_ms(self) -> float:
        return math.inf

    def step(self) -> None:
        self.steps += 1
        if self.failure is not None:
            raise self.failure

    def close(self) -> None:
        os.close(self._descriptor)


@pytest.fixture
def thread() -> Iterator[ServingThread]:
    started = ServingThread()
    yield started
    started.close()


@pytest.fixture
def server(thread: ServingThread) -> Iterator[Server]:
    added = Server()
    thread.call(lambda: thread.add(added))
    yield added
    added.close()


def test_what_is_called_returns_or_raises_to_the_caller(thread: ServingThread, server: Server) -> None:
    assert thread.call(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        thread.call(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        thread.wait_until(lambda: 1 // 0 == 0)
    assert thread.call(lambda: 8) == 8
    assert server.steps > 0
    assert thread.servers == [server]


def test_what_is_waited_for_is_looked_at_after_each_step(thread: ServingThread, server: Server) -> None:
    os.eventfd_write(server.fileno(), 1)
    thread.wait_until(lambda: server.steps >= 100)
    os.eventfd_read(server.fileno())
    thread.call(lambda: thread.remove(server))
    steps = server.steps
    thread.call(lambda: None)
    assert server.steps == steps


def test_a_server_that_fails_is_told_to_whoever_waits_and_to_whoever_comes_after(
    thread: ServingThread, server: Server
) -> None:
    server.failure = OSError("broken")
    with pytest.raises(OSError, match="broken"):
        thread.wait_until(lambda: False)
    with pytest.raises(RuntimeError, match="nothing is served"):
        thread.call(lambda: None)
