"""Committed messages that are for later: where they wait, as the delivery rooms have it.

None of our prepares has a delay; half messages that Apache's broker took may.
"""

from collections.abc import Callable
from typing import Final

import structlog

from escrowmq import _core
from escrowmq.broker.delivery.draft import Draft
from escrowmq.broker.delivery.levels import DelayLevels
from escrowmq.broker.delivery.postponing import delay_level, postpone
from escrowmq.broker.delivery.timing import TimerRules, has_timer, slot_ms, wait_until
from escrowmq.broker.ports import DelayedMessages, TimedMessages
from escrowmq.broker.refusal import Refused
from escrowmq.errors import BadHeader
from escrowmq.model import names
from escrowmq.protocol import properties
from escrowmq.transaction.ports import Waiting

_NAMES: Final = (properties.DELAY, *properties.TIMERS)
# In each of those names: hardly any half message has one of them, and every commit is looked at.
PART_OF_NAMES: Final = b"DEL"

_log = structlog.get_logger()


class LaterCommits:
    """Says where a committed message waits, and has it delivered when its time has come."""

    def __init__(
        self,
        levels: DelayLevels,
        delayed: DelayedMessages,
        timers: TimedMessages | None,
        *,
        timer_rules: Callable[[], TimerRules],
        wall_ms: Callable[[], int],
    ) -> None:
        self._levels = levels
        self._delayed = delayed
        self._timers = timers
        self._timer_rules = timer_rules
        self._wall_ms = wall_ms

    def waiting(self, half: _core.Record, *, topic: str, queue_id: int) -> Waiting | None:
        """Where the message of a half message waits; None where its time has come, or nobody can tell when it does."""
        if PART_OF_NAMES not in half.properties_bytes:
            return None
        if not any(half.find_property(name) is not None for name in _NAMES):
            return None
        kept = {
            name: value
            for name, value in half.properties.items()
            if name not in (properties.REAL_TOPIC, properties.REAL_QUEUE_ID, properties.ROOT)
        }
        draft = Draft(
            topic=topic, queue_id=queue_id, properties=kept, body=b"", born_timestamp_ms=0, born_host=half.born_host
        )
        try:
            placed = self._place(draft)
        except (Refused, BadHeader) as error:
            _log.warning("a committed message is delivered at once", transaction=half.unique_id, reason=str(error))
            return None
        return None if placed is None else Waiting(placed.topic, placed.queue_id, placed.properties)

    def appended(self, waiting: Waiting, receipt: _core.Receipt) -> None:
        """A message waits from now on."""
        if waiting.topic == names.SCHEDULE_TOPIC:
            self._delayed.postponed(int(waiting.properties[properties.DELAY]), receipt)
        elif self._timers is not None:
            self._timers.appended(receipt.end_offset)

    def _place(self, draft: Draft) -> Draft | None:
        level = delay_level(draft.properties)
        if level > 0:
            return postpone(draft, level, self._levels)
        if self._timers is None or not has_timer(draft.properties):
            return None
        slot = slot_ms(draft.properties, self._timer_rules(), now_ms=self._wall_ms())
        return None if slot is None else wait_until(draft, slot)
