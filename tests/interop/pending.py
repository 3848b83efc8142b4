"""Waiting for what a broker of ours has pending."""

import time
from collections.abc import Callable

from tests.compat.broker_process import ServerProcess

from escrowmq.admin import transactions
from escrowmq.admin.client import Admin

POLL_INTERVAL_S = 0.1
PATIENCE_S = 90


def await_none_pending(server: ServerProcess) -> None:
    """Returns when every transaction of the broker is decided."""
    with Admin([server.broker]) as admin:

        def pending() -> int:
            (count,) = transactions.count_transactions(admin, {"broker": server.broker})
            return count.pending

        await_that(lambda: pending() == 0, "no transaction is pending")


def await_that(is_so: Callable[[], bool], what: str) -> None:
    """Returns when it is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s: {what}"
        time.sleep(POLL_INTERVAL_S)
