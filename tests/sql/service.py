"""A service that a test may kill at any line: one order and its message in one database transaction.

`make_lines_deadly` counts the lines of the escrow's own modules, as the thread that places the order runs them, and
kills the process with SIGKILL at the one that is asked for. So every place between two lines is met, one at a time.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import sqlalchemy
from sqlalchemy.orm import Session

import escrowmq.client.transactions
import escrowmq.sql
from escrowmq.sql.escrow import Escrow

GROUP: Final = "order-service"
TOPIC: Final = "orders"
_WATCHED: Final = (
    f"{Path(escrowmq.sql.__file__).parent}{os.sep}",
    f"{Path(escrowmq.client.transactions.__file__).parent}{os.sep}",
    __file__,
)


class LineCounter:
    """Lines of the escrow, one after the other."""

    def __init__(self, deadly: int | None) -> None:
        self.count = 0
        self._deadly = deadly
        self._is_watched: dict[CodeType, bool] = {}

    def run(self, work: Callable[[], object]) -> None:
        """Does work whose lines count."""
        sys.settrace(self._enter)
        try:
            work()
        finally:
            sys.settrace(None)

    def _enter(self, frame: FrameType, _event: str, _argument: object) -> "Callable[..., Any] | None":
        is_watched = self._is_watched.get(frame.f_code)
        if is_watched is None:
            is_watched = self._is_watched[frame.f_code] = frame.f_code.co_filename.startswith(_WATCHED)
        return self._line if is_watched else None

    def _line(self, _frame: FrameType, event: str, _argument: object) -> "Callable[..., Any]":
        if event == "line":
            self.count += 1
            if self.count == self._deadly:
                os.kill(os.getpid(), signal.SIGKILL)
        return self._line


def place_order(escrow: Escrow, engine: sqlalchemy.Engine, number: int) -> None:
    """An order, and the message that tells of it."""
    with Session(engine) as session, session.begin():
        session.execute(sqlalchemy.text("INSERT INTO orders (id, amount) VALUES (:id, 10)"), {"id": number})
        escrow.send(session, TOPIC, str(number), key=str(number))


def serve_one(name_server: str, url: str, number: int, deadly: int | None) -> int:
    """A service from its start to its end, or to a line; how many lines there were."""
    engine = sqlalchemy.create_engine(url)
    counter = LineCounter(deadly)
    with Escrow(name_server, group=GROUP, databases=engine, topics=[TOPIC]) as escrow:
        counter.run(lambda: place_order(escrow, engine, number))
    engine.dispose()
    return counter.count
