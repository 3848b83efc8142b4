"""Work that is done every so often, never twice at a time, and at once when somebody asks for it."""

import logging
import threading
from collections.abc import Callable
from typing import Final

from escrowmq.client.connection import Client
from escrowmq.client.operation import Cancel, Operation, Outcome
from escrowmq.errors import EscrowError

_LOG: Final = logging.getLogger("escrowmq.client")


class Repeating:
    """One kind of work. From any thread."""

    def __init__(self, client: Client, work: Callable[[], Operation[float]], *, pause_s: float) -> None:
        """Makes it; `soon` or `later` begins it.

        Args:
            client: What runs it.
            work: The work, which says when it is due again.
            pause_s: When it is due again if it fails.
        """
        self._client = client
        self._work = work
        self._pause_s = pause_s
        self._lock = threading.Lock()
        self._is_running = False
        self._is_wanted = False
        self._is_stopped = False
        self._timer: Cancel | None = None

    @property
    def is_running(self) -> bool:
        """Whether it is at work."""
        return self._is_running

    def soon(self) -> None:
        """Does it now, or once more as soon as what is under way is done."""
        with self._lock:
            if self._is_stopped:
                return
            if self._is_running:
                self._is_wanted = True
                return
            self._is_running = True
            self._cancel_timer()
        self._client.begin(self._work(), self._done)

    def later(self, pause_s: float) -> None:
        """Does it after a while."""
        with self._lock:
            if not self._is_stopped:
                self._cancel_timer()
                self._timer = self._client.later(pause_s, self.soon)

    def stop(self) -> None:
        """Does it no more; what is under way goes on to its end."""
        with self._lock:
            self._is_stopped = True
            self._cancel_timer()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer()
            self._timer = None

    def _done(self, outcome: Outcome[float]) -> None:
        try:
            pause_s = outcome.get()
        except EscrowError as error:
            _LOG.warning("work of a consumer failed: error %s", error)
            pause_s = self._pause_s
        with self._lock:
            self._is_running = False
            is_wanted, self._is_wanted = self._is_wanted, False
        if is_wanted:
            self.soon()
        else:
            self.later(pause_s)
