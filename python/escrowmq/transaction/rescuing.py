"""While the disk is too full, half messages leave the oldest segment, so that it may go.

Each leaves where it was once, however long the disk stays full: what was put back since then stands close together, and
a segment of it would be no gain.
"""

from escrowmq.transaction.journal import Journal
from escrowmq.transaction.ports import Index, Records
from escrowmq.transaction.upkeep import put_back_before


class Rescue:
    """Puts half messages back, a segment at a time."""

    def __init__(self, index: Index, records: Records, journal: Journal, *, segment_size_bytes: int) -> None:
        self._index = index
        self._records = records
        self._journal = journal
        self._segment_size_bytes = segment_size_bytes
        # Where the log ended when the disk became too full.
        self._full_at: int | None = None

    def run(self, *, is_disk_full: bool, log_start: int, log_end: int) -> int:
        """Puts some back, if their segment would go then; how many."""
        if not is_disk_full:
            self._full_at = None
            return 0
        if self._full_at is None:
            self._full_at = log_end
        segment_end = log_start - log_start % self._segment_size_bytes + self._segment_size_bytes
        if segment_end > self._full_at:
            return 0
        return put_back_before(segment_end, self._index, self._records, self._journal)
