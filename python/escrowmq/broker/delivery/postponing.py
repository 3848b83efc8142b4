"""Delayed messages: how one gets into the schedule topic, and how it leaves it again."""

import re
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from escrowmq import _core
from escrowmq.broker.delivery.draft import Draft
from escrowmq.broker.delivery.levels import DelayLevels, queue_of
from escrowmq.errors import BadHeader
from escrowmq.model import names
from escrowmq.protocol import properties

_QUEUE_ID: Final = re.compile("[0-9]{1,9}")


def delay_level(pairs: Mapping[str, str]) -> int:
    """The level that a message asks for; 0 or less for none.

    Raises:
        BadHeader: It is no number.
    """
    text = pairs.get(properties.DELAY, "0")
    try:
        return int(text)
    except ValueError as error:
        raise BadHeader(f"the delay level is {text!r}, which is no number", field=properties.DELAY) from error


def postpone(draft: Draft, level: int, levels: DelayLevels) -> Draft:
    """The message as it waits: in the queue of its level, with where it belongs among its properties.

    Compat: a level beyond the last counts as the last, and a level beats a timer.
    """
    level = min(level, levels.highest)
    kept = {name: value for name, value in draft.properties.items() if name not in properties.TIMERS}
    place = {
        properties.DELAY: str(level),
        properties.REAL_TOPIC: draft.topic,
        properties.REAL_QUEUE_ID: str(draft.queue_id),
    }
    return replace(draft, topic=names.SCHEDULE_TOPIC, queue_id=queue_of(level), properties={**kept, **place})


def countdown_ms(deliver_at_ms: int, *, now_ms: int, delay_ms: int) -> int:
    """How long a message of a level still waits; 0 or less if it is due.

    Compat: one that would wait longer than its level does was stored by a clock that ran ahead, and is due at once.
    """
    countdown = deliver_at_ms - now_ms
    return 0 if countdown > delay_ms else countdown


def release(record: _core.Record) -> _core.Message | None:
    """The message as it is delivered: in the queue where it belongs. None if nobody can tell where that is.

    Compat: its properties stay as they are, where it waited and for how long among them, and so does its broker's
    address. A half message does not wait here; one that claims to be would be prepared by nobody.
    """
    topic = record.find_property(properties.REAL_TOPIC) or ""
    queue_id = record.find_property(properties.REAL_QUEUE_ID) or ""
    if topic == names.HALF_TOPIC or names.refuse_topic(topic) is not None:
        return None
    if not _QUEUE_ID.fullmatch(queue_id):
        return None
    return _core.Message.copy_of(record, topic=topic, queue_id=int(queue_id), keeps_store_host=True)
