"""Services that are killed line by line, and what is left of their orders and messages when all has settled."""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterable
from typing import Final

import sqlalchemy
from tests.sql.service import GROUP, TOPIC, serve_one

from escrowmq.sql.escrow import Escrow
from escrowmq.testing import LocalBroker

SHORT_CHECKS: Final = {
    "broker.transaction_timeout_ms": 1,
    "broker.transaction_check_interval_ms": 100,
    "broker.transaction_checks_max": 1_000_000,
}
_PATIENCE_S: Final = 40.0
_CHILD_DONE: Final = 0


def killed_at(name_server: str, url: str, number: int, deadly: int) -> bool:
    """Has a process place an order and die at a line; whether there was such a line.

    The process is a fork: what it needs is loaded already, and no thread of the parent's is in it.
    """
    child = os.fork()
    if child == 0:
        try:
            serve_one(name_server, url, number, deadly)
            os._exit(_CHILD_DONE)
        except BaseException:  # noqa: BLE001 - a fork must not run on into the test
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == _CHILD_DONE, f"the order {number} failed before line {deadly}"
    return False


def orders(url: str) -> Counter[str]:
    """The orders that are in the database."""
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        found = Counter(str(row[0]) for row in connection.exec_driver_sql("SELECT id FROM orders"))
    engine.dispose()
    return found


def messages(broker: LocalBroker) -> Counter[str]:
    """The messages that consumers can read."""
    return Counter(message.body.decode() for message in broker.messages(TOPIC))


def settle(broker: LocalBroker, url: str) -> None:
    """Starts the service again, and waits until nothing is pending: all that it does is to be there."""
    with Escrow(broker.name_server, group=GROUP, databases=url, topics=[TOPIC]):
        until_s = time.monotonic() + _PATIENCE_S
        while pending(broker):
            assert time.monotonic() < until_s, f"{pending(broker)} transactions are pending"
            time.sleep(0.02)


def pending(broker: LocalBroker) -> int:
    """How many transactions nobody has decided."""
    from escrowmq.admin import transactions  # noqa: PLC0415
    from escrowmq.admin.client import Admin  # noqa: PLC0415

    with Admin([broker.name_server]) as admin:
        return sum(each.pending for each in transactions.count_transactions(admin, {"": broker.address}))


def agree(broker: LocalBroker, url: str, numbers: Iterable[int]) -> None:
    """Every order has its message, once; and no message is without its order."""
    placed, sent = orders(url), messages(broker)
    assert placed == sent
    assert set(placed) <= {str(number) for number in numbers}
