"""How old half messages are, whatever is done to the clock of the machine while we run.

Store times are its time of day, and never go back: after it was set back they stand still. So a time that passes by
itself says what else is certain: what a mark has behind it was appended before the mark, all else after it.
"""

from bisect import bisect_right
from operator import itemgetter
from typing import Final

from escrowmq.transaction.ports import Transaction

# Beyond, every other one goes: bounds get wider, and stay true.
MARKS_COUNT_MAX: Final = 4_096

_end_of = itemgetter(0)


class Ages:
    """Ages by store time, as far as marks agree."""

    def __init__(self, end: int, *, now_ms: int, wall_ms: int) -> None:
        self._started_wall_ms = wall_ms
        # The ends of the log, ascending, and the time that had passed by then.
        self._marks = [(end, now_ms)]

    def mark(self, end: int, *, now_ms: int) -> None:
        """Notes how far the log goes now."""
        if [one[0] for one in self._marks[-2:]] == [end, end]:
            self._marks.pop()
        self._marks.append((end, now_ms))
        if len(self._marks) > MARKS_COUNT_MAX:
            del self._marks[1::2]

    def of(self, transaction: Transaction, *, now_ms: int, wall_ms: int) -> int:
        """How old a transaction is; less than 0 where its store time is ahead of our start, and nobody can tell."""
        place = bisect_right(self._marks, transaction.root_log_offset, key=_end_of)
        if place == 0:
            passed_ms = now_ms - self._marks[0][1]
            return self._started_wall_ms + passed_ms - transaction.root_store_ms
        oldest_ms = now_ms - self._marks[place - 1][1]
        youngest_ms = now_ms - self._marks[place][1] if place < len(self._marks) else 0
        return max(youngest_ms, min(wall_ms - transaction.root_store_ms, oldest_ms))
