"""Answers that wait for the disk in a store that flushes in its own time: transactions, where they alone must last.

A thread flushes for all that wait by then, and answers them; what comes meanwhile shares the next flush. Nobody else
waits for it.
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import structlog

from escrowmq.errors import EscrowError

Waiting = TypeVar("Waiting")

_log = structlog.get_logger()


class FlushedAnswers(Generic[Waiting]):
    """Flushes, and passes on what waited for that, with whether it is on disk now. Its thread ends when it closes."""

    def __init__(self, flush: Callable[[], object], answer: Callable[[list[Waiting], bool], None]) -> None:
        self._flush = flush
        self._answer = answer
        self._changed = threading.Condition()
        self._waiting: list[Waiting] = []
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="escrowmq-flush", daemon=True)
        self._thread.start()

    def add(self, answers: list[Waiting]) -> None:
        """Has these wait. What they acknowledge has been appended."""
        with self._changed:
            self._waiting += answers
            self._changed.notify()

    def close(self) -> None:
        """Answers all that wait, and ends the thread."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify()
        self._thread.join()

    def abandon(self) -> None:
        """Ends the thread; nobody who waits is answered."""
        with self._changed:
            self._waiting.clear()
        self.close()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_stopping)
                taken, self._waiting = self._waiting, []
            if not taken:
                return
            self._answer_some(taken)

    def _answer_some(self, taken: list[Waiting]) -> None:
        try:
            self._flush()
            is_durable = True
        except EscrowError as error:
            _log.warning("transactions not flushed", answers=len(taken), reason=str(error))
            is_durable = False
        try:
            self._answer(taken, is_durable)
        except EscrowError as error:
            _log.warning("transactions not answered", answers=len(taken), reason=str(error))
