"""Messages with a time of their own: which slot of the timers is theirs, and how one gets into the timer topic."""

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from escrowmq.broker.delivery.draft import Draft
from escrowmq.broker.delivery.postponing import delay_level
from escrowmq.broker.ports import TimedMessages
from escrowmq.broker.refusal import Refused
from escrowmq.broker_config import TimersConfig
from escrowmq.model import names
from escrowmq.protocol import properties
from escrowmq.protocol.recall_handle import RecallHandle
from escrowmq.protocol.response_codes import ResponseCode

TIMER_QUEUE: Final = 0

_JAVA_LONG: Final = re.compile("[+-]?[0-9]{1,19}")
_UNLIMITED: Final = 2**31 - 1


class TimerRules(Struct, frozen=True):
    """What timers are like, as the settings have it."""

    precision_ms: int
    delay_max_ms: int
    slot_messages_max: int

    @classmethod
    def of(cls, config: TimersConfig) -> "TimerRules":
        """The rules that settings make."""
        return cls(config.timer_precision_ms, config.timer_delay_max_s * 1_000, config.timer_slot_messages_max)


def has_timer(pairs: Mapping[str, str]) -> bool:
    """Whether a message has a time of its own. Compat: a delay level beats it, and what has waited waits no more."""
    is_asked = any(name in pairs for name in properties.TIMERS)
    return is_asked and properties.TIMER_OUT_MS not in pairs and delay_level(pairs) <= 0


def slot_ms(pairs: Mapping[str, str], rules: TimerRules, *, now_ms: int) -> int | None:
    """The time of the slot that a message waits for; None where its time has come.

    A slot is delivered when it has ended, so that its time lies before the message's: nothing is early.

    Raises:
        Refused: There is no such time, or it is too far away, or a message is taken back too late.
    """
    due_ms = _due_ms(pairs, now_ms)
    if due_ms is None or due_ms - now_ms > rules.delay_max_ms:
        raise _illegal(rules)
    if due_ms > now_ms:
        return (due_ms - 1) // rules.precision_ms * rules.precision_ms
    if properties.TIMER_DELETE_KEY in pairs:
        raise _illegal(rules)
    return None


def refuse_broken(timers: TimedMessages) -> None:
    """Refuses a message that nobody would deliver.

    Raises:
        Refused: The timers stand still.
    """
    if timers.broken_by is not None:
        raise Refused(ResponseCode.SERVICE_NOT_AVAILABLE, f"the timers stand still: {timers.broken_by}")


def refuse_congestion(slot: int, rules: TimerRules, count_at: Callable[[int], int], random: Random) -> None:
    """Refuses a message for a slot that holds too many. Compat: with twice the limit always, above it by chance.

    Raises:
        Refused: It is such a slot.
    """
    limit = rules.slot_messages_max
    if limit == _UNLIMITED:
        return
    excess = count_at(slot) - limit
    if excess > 0 and (excess >= limit or random.randrange(1_000) > 1_000 * excess / (limit + 0.1)):
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            f"timer message is under flow control, max num limit is {limit * 2} or the current value is greater than "
            f"{limit} and less than {limit * 2}, trigger random flow control",
        )


def wait_until(draft: Draft, slot: int) -> Draft:
    """The message as it waits: in the timer topic, with its slot and where it belongs among its properties."""
    place = {
        properties.TIMER_OUT_MS: str(slot),
        properties.REAL_TOPIC: draft.topic,
        properties.REAL_QUEUE_ID: str(draft.queue_id),
    }
    return replace(draft, topic=names.TIMER_TOPIC, queue_id=TIMER_QUEUE, properties={**draft.properties, **place})


def recall_handle(draft: Draft, slot: int, *, broker_name: str) -> str:
    """By what the producer of a message that waits can take it back. Compat: one of a retry topic has no handle."""
    topic = draft.properties[properties.REAL_TOPIC]
    if topic.startswith(names.RETRY_PREFIX):
        return ""
    return RecallHandle(topic, broker_name, str(slot + 1), draft.properties[properties.UNIQUE_KEY]).encode()


def _due_ms(pairs: Mapping[str, str], now_ms: int) -> int | None:
    delay_s, delay_ms = pairs.get(properties.TIMER_DELAY_SEC), pairs.get(properties.TIMER_DELAY_MS)
    text = delay_s or delay_ms or pairs.get(properties.TIMER_DELIVER_MS, "")
    if not _JAVA_LONG.fullmatch(text):
        return None
    if delay_s is not None:
        return now_ms + int(text) * 1_000
    return now_ms + int(text) if delay_ms is not None else int(text)


def _illegal(rules: TimerRules) -> Refused:
    return Refused(
        ResponseCode.MESSAGE_ILLEGAL,
        f"timer message illegal, the delay time should not be bigger than the max delay {rules.delay_max_ms}ms; or if "
        "set del msg, the delay time should be bigger than the current time",
    )
