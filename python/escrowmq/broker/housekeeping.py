"""What has to be done now and then, and when it is time to."""

import math
from collections.abc import Callable, Sequence

import structlog
from msgspec import Struct

_log = structlog.get_logger()


class Task(Struct):
    """Something to do at intervals."""

    run: Callable[[], None]
    interval_ms: int
    due_ms: int = 0


class Timetable:
    """Tasks, each first due an interval after the start. One that fails keeps no other from running."""

    def __init__(self, tasks: Sequence[Task], *, now_ms: int) -> None:
        self._tasks = tasks
        for task in tasks:
            task.due_ms = now_ms + task.interval_ms

    def next_due_ms(self) -> float:
        """When the next task is due."""
        return min((task.due_ms for task in self._tasks), default=math.inf)

    def run(self, now_ms: int) -> None:
        """Runs what is due."""
        for task in self._tasks:
            if task.due_ms <= now_ms:
                task.due_ms = now_ms + task.interval_ms
                try:
                    task.run()
                except Exception:  # noqa: BLE001 - a full disk at one round may have space at the next
                    _log.exception("housekeeping failed")
