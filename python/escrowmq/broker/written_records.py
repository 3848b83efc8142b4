"""Records that are in the log, though perhaps not in their queues yet.

In async mode a prepare is answered as soon as it is in the log, and its producer may decide before the queue builder
has come as far. That is a matter of a moment, and the decision waits for it instead of being refused.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from escrowmq import _core
from escrowmq.errors import NoRecord, NotYetDurable

WAIT_MAX_S: Final = 0.02


class WrittenRecords:
    """The records of a store that answers before the disk has them."""

    def __init__(self, store: _core.Store) -> None:
        self._store = store

    def record_at(self, log_offset: int) -> _core.Record:
        """The record that begins at a log offset.

        Raises:
            NoRecord: None begins there, or none is any more, or none is yet.
        """
        try:
            return self._store.record_at(log_offset)
        except NoRecord:
            if not self._store.visible_end <= log_offset < self._store.log_end:
                raise
        with suppress(NotYetDurable):
            self._store.wait_visible(log_offset + 1, timeout_s=WAIT_MAX_S)
        return self._store.record_at(log_offset)

    def read(self, topic: str, queue_id: int, offset: int, *, count_max: int = 32) -> Sequence[_core.Record]:
        """Records of a queue from a queue offset on; none at or past its end."""
        return self._store.read(topic, queue_id, offset, count_max=count_max)

    def find_by_key(self, topic: str, key: str, *, count_max: int = 32) -> Sequence[_core.Record]:
        """Records of a topic with a key, newest first."""
        return self._store.find_by_key(topic, key, count_max=count_max)
