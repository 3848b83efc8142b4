"""How far something has come, as far as that may be written down: only what is on disk counts as done."""

from collections import deque
from typing import Generic, TypeVar

Position = TypeVar("Position")


class DurableProgress(Generic[Position]):
    """Positions, each reached by appending up to a log offset. They are noted in the order of those offsets."""

    def __init__(self, position: Position) -> None:
        self._durable = position
        self._reached: deque[tuple[int, Position]] = deque()

    def reach(self, position: Position, *, end_offset: int) -> None:
        """Notes a position, which counts once the log is durable up to `end_offset`."""
        self._reached.append((end_offset, position))

    def durable(self, durable_end: int) -> Position:
        """The last position that counts when the log is durable up to `durable_end`."""
        while self._reached and self._reached[0][0] <= durable_end:
            _, self._durable = self._reached.popleft()
        return self._durable
