"""What happens in the story: customers order, the order service is killed again and again, and the books agree.

broker, service, billing start ─▶ customers order, SIGKILL and start again ─▶ nothing is pending ─▶ compare
"""

import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import httpx
from msgspec import Struct
from sqlalchemy import Engine, create_engine, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from escrowmq.admin import transactions
from escrowmq.admin.client import Admin
from escrowmq.demo.up_process import UpProcess
from examples.orders.tables import BillingTables, Invoice, Order, OrderTables, open_database

KILLS: Final = 3
ORDERS_BETWEEN_KILLS: Final = 15
CUSTOMERS: Final = 4
PATIENCE_S: Final = 30.0
_PAUSE_S: Final = 0.05
# Questions come soon, so that nobody has to wait for them here.
_BROKER: Final = (
    "--port=0",
    "--namesrv-port=0",
    "--set=broker.transaction_timeout_ms=500",
    "--set=broker.transaction_check_interval_ms=500",
    "--log-level=error",
)


class Books(Struct, frozen=True):
    """Numbers of orders: asked for, acknowledged by the service, in its database, and billed."""

    asked: set[int]
    acknowledged: set[int]
    placed: set[int]
    billed: set[int]

    def agree(self) -> bool:
        """Whether each order has its invoice, no invoice is without its order, and no answer was a lie."""
        return bool(self.placed) and self.placed == self.billed and self.acknowledged <= self.placed <= self.asked


class Story:
    """One run; use it as a context manager, which stops every process of it."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._say = say
        self._orders_url = f"sqlite:///{folder}/orders.db"
        self._billing_url = f"sqlite:///{folder}/billing.db"
        self._port = _free_port()
        self._asked: set[int] = set()
        self._acknowledged: set[int] = set()
        self._lock = threading.Lock()
        open_database(self._orders_url, OrderTables).dispose()
        open_database(self._billing_url, BillingTables).dispose()
        self._broker = UpProcess(folder / "broker", _BROKER)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._start("billing", self._billing_url)
        self._start_service()

    def tell(self) -> Books:
        """Runs it to its end."""
        self._say("a broker, a service that creates orders, and one that bills them are running")
        for kill in range(KILLS):
            self._order_until_killed()
            self._say(
                f"  SIGKILL {kill + 1}: {len(self._acknowledged)} of {len(self._asked)} orders were acknowledged so far"
            )
            self._start_service()
        self._order(ORDERS_BETWEEN_KILLS)
        self._say("nobody is killed any more; the broker asks what it was never told")
        self._await(lambda: self._pending() == 0 and self._books().agree())
        return self._books()

    def close(self) -> None:
        """Stops everything."""
        for process in self._processes.values():
            process.kill()
            process.wait()
        self._broker.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _order_until_killed(self) -> None:
        """Instead of one order comes SIGKILL, while those of the other customers are on their way."""
        self._order(ORDERS_BETWEEN_KILLS, deadly=random.randrange(CUSTOMERS, ORDERS_BETWEEN_KILLS))  # noqa: S311
        self._processes["service"].wait()

    def _order(self, count: int, *, deadly: int | None = None) -> None:
        first = len(self._asked)

        def ask(turn: int) -> None:
            if turn == deadly:
                self._processes["service"].kill()
            self._ask(first + turn)

        with ThreadPoolExecutor(CUSTOMERS) as customers:
            list(customers.map(ask, range(count)))

    def _ask(self, number: int) -> None:
        """A customer asks once. Without an answer the order may be there or not; its message may not differ."""
        with self._lock:
            self._asked.add(number)
        try:
            answer = httpx.put(self._url("/orders"), json={"number": number, "amount": 10 + number}, timeout=5.0)
        except httpx.TransportError:
            return
        if answer.is_success:
            with self._lock:
                self._acknowledged.add(number)

    def _start_service(self) -> None:
        self._start("service", self._orders_url, str(self._port))
        self._await(self._is_serving)

    def _start(self, name: str, *arguments: str) -> None:
        command = [sys.executable, "-m", f"examples.orders.{name}", self._broker.name_server, *arguments]
        # What these have to say is no part of the story.
        self._processes[name] = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - our own command

    def _is_serving(self) -> bool:
        try:
            return httpx.get(self._url("/openapi.json")).is_success
        except httpx.TransportError:
            return False

    def _url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._port}{path}"

    def _pending(self) -> int:
        with Admin([self._broker.name_server]) as admin:
            return sum(each.pending for each in transactions.count_transactions(admin, {"": self._broker.broker}))

    def _books(self) -> Books:
        orders, billing = create_engine(self._orders_url), create_engine(self._billing_url)
        books = Books(
            self._asked, self._acknowledged, _numbers(orders, Order.number), _numbers(billing, Invoice.order_number)
        )
        orders.dispose()
        billing.dispose()
        return books

    def _await(self, is_so: Callable[[], bool]) -> None:
        until_s = time.monotonic() + PATIENCE_S
        while not is_so() and time.monotonic() < until_s:
            time.sleep(_PAUSE_S)


def _numbers(engine: Engine, column: InstrumentedAttribute[int]) -> set[int]:
    with Session(engine) as session:
        return set(session.scalars(select(column)))


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
