"""Runs servers on the main thread until the process is asked to stop."""

import contextlib
import resource
import signal
import socket
from collections.abc import Callable, Iterator, Sequence

import click

from escrowmq.serving import Served, run


def serve(servers: Sequence[Served], *, greeting: str, is_ready: Callable[[], bool] = lambda: True) -> None:
    """Serves until SIGTERM or SIGINT. To be called on the main thread.

    The greeting is said when all is ready and a signal would stop it in order: who reads it may send one.
    """
    with _stop_signals() as stop:
        if run(servers, stop=stop, until=is_ready):
            click.echo(greeting)
            run(servers, stop=stop)


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
