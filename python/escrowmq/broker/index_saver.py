"""Writes the transaction index down beside the broker's thread, which would wait for the disk."""

import threading
from typing import Final, Protocol

import structlog

from escrowmq.errors import EscrowError

THREAD_NAME: Final = "escrowmq-saver"

_log = structlog.get_logger()


class SavedIndex(Protocol):
    """What is written down: `escrowmq._core.TransactionIndex`, or a test's own."""

    def save(self) -> bool:
        """Writes it down, if the log is durable as far as it goes."""


class IndexSaver:
    """Writes one snapshot at a time, on a thread that lasts as long as that."""

    def __init__(self, index: SavedIndex) -> None:
        self._index = index
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Begins a snapshot, unless one is being written."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._save, name=THREAD_NAME, daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """Waits for the snapshot that is being written."""
        if self._thread is not None:
            self._thread.join()

    def _save(self) -> None:
        try:
            # Where the log is not durable that far, the next time will do.
            self._index.save()
        except EscrowError as error:
            _log.warning("transactions not written down", reason=str(error))
