"""Half messages: which sends may become one, what it carries, and what it turns into."""

from collections.abc import Mapping
from typing import Final

from escrowmq import _core
from escrowmq.protocol import properties
from escrowmq.transaction.ports import Transaction, Waiting
from escrowmq.transaction.topics import DISCARD_TOPIC, HALF_QUEUE_ID, HALF_TOPIC

PROPERTIES_SIZE_MAX_BYTES: Final = 32_767
NAME_LENGTH_MAX: Final = 255
"""Of group and id, which are kept in memory for as long as a transaction is pending."""
RETRY_WINDOW_MS: Final = 30_000
"""How long a prepare with the same id is the same prepare, sent again."""

TRANSACTION_BITS: Final = 0xC
_COMMITTED: Final = 0x8

# Only the broker says these.
_FORGED: Final = frozenset(
    {
        properties.REAL_TOPIC,
        properties.REAL_QUEUE_ID,
        properties.CHECK_TIMES,
        properties.PREPARED_QUEUE_OFFSET,
        properties.ROOT,
        properties.DECIDED,
    }
)

# A half message says these of itself, its message does not.
_OF_HALF_MESSAGES: Final = (properties.REAL_TOPIC, properties.REAL_QUEUE_ID, properties.ROOT)

# What a copy has more than the half message: two numbers of twenty digits for its root, two of ten for its counters.
_ROOM_FOR_COPIES_BYTES: Final = (
    sum(len(name) + 2 for name in (properties.CHECK_TIMES, properties.PREPARED_QUEUE_OFFSET, properties.ROOT))
    + 2 * 21
    + 2 * 20
)


def is_prepare(pairs: Mapping[str, str], *, reconsume_times: int) -> bool:
    """Whether a send prepares a transaction.

    Compat: a committed message that a consumer gives back still says so, and is none.
    """
    is_marked = pairs.get(properties.TRANSACTION_PREPARED, "").lower() == "true"
    is_given_back = reconsume_times > 0 and pairs.get(properties.DELAY, "0") != "0"
    return is_marked and not is_given_back


def half_properties(pairs: Mapping[str, str], *, topic: str, queue_id: int) -> dict[str, str]:
    """The properties of a half message: those that were sent, and where it is for."""
    kept = {name: value for name, value in pairs.items() if name not in _FORGED}
    return {
        **kept,
        properties.TRANSACTION_ID: kept[properties.UNIQUE_KEY],
        properties.REAL_TOPIC: topic,
        properties.REAL_QUEUE_ID: str(queue_id),
    }


def refuse(pairs: Mapping[str, str]) -> str | None:
    """Why a half message with these properties is not taken; None if it is."""
    if not pairs.get(properties.PRODUCER_GROUP, "").strip():
        return "a transaction needs a producer group, which decides it: the property PGROUP is missing"
    for name in (properties.PRODUCER_GROUP, properties.UNIQUE_KEY):
        if len(pairs[name]) > NAME_LENGTH_MAX:
            return f"the property {name} has {len(pairs[name])} characters, and at most {NAME_LENGTH_MAX} are kept"
    for name in (properties.DELAY, *properties.TIMERS):
        if pairs.get(name, "0") != "0":
            return f"a transaction has no delay: the property {name} is {pairs[name]}"
    size = properties.encoded_size(pairs) + _ROOM_FOR_COPIES_BYTES
    if size > PROPERTIES_SIZE_MAX_BYTES:
        return (
            f"the properties are too long: {size} bytes with what the broker adds, "
            f"and at most {PROPERTIES_SIZE_MAX_BYTES} can be stored"
        )
    return None


def is_same_prepare(known: Transaction, *, group: str, topic: str, body_crc: int, now_ms: int) -> bool:
    """Whether a prepare with the id of a known transaction is that one, sent again since its answer was lost.

    A clock that was set back since makes it no other.
    """
    return (
        known.state == "pending"
        and known.checks == 0
        and now_ms - known.root_store_ms <= RETRY_WINDOW_MS
        and (known.group, known.topic, known.body_crc) == (group, topic, body_crc)
    )


def final_message(half: _core.Record, *, topic: str, queue_id: int) -> _core.Message:
    """The message of a committed transaction, in its own queue; it names the half message that it commits.

    Compat: all properties stay but where it is for, and those that are ours.
    """
    return _core.Message.copy_of(
        half,
        topic=topic,
        queue_id=queue_id,
        without=_OF_HALF_MESSAGES,
        sys_flag=half.sys_flag & ~TRANSACTION_BITS | _COMMITTED,
        prepared_transaction_offset=half.log_offset,
        keeps_store_host=True,
    )


def waiting_message(half: _core.Record, waiting: Waiting) -> _core.Message:
    """The message of a committed transaction where it waits for its time; it too names the half message."""
    return _core.Message.copy_of(
        half,
        topic=waiting.topic,
        queue_id=waiting.queue_id,
        properties=properties.encode(waiting.properties),
        sys_flag=half.sys_flag & ~TRANSACTION_BITS | _COMMITTED,
        prepared_transaction_offset=half.log_offset,
        keeps_store_host=True,
    )


def copy_message(half: _core.Record, transaction: Transaction, *, checks: int) -> _core.Message:
    """The half message put back at the end of its queue: the newest copy, which knows its root."""
    pairs = _with_root({**half.properties, properties.CHECK_TIMES: str(checks)}, transaction)
    return _core.Message.copy_of(half, properties=properties.encode(pairs), keeps_store_host=True)


def discarded_message(half: _core.Record, transaction: Transaction) -> _core.Message:
    """The half message where operators find it, when nobody decided it in time."""
    pairs = _with_root(half.properties, transaction)
    return _core.Message.copy_of(
        half, topic=DISCARD_TOPIC, queue_id=0, properties=properties.encode(pairs), keeps_store_host=True
    )


def resumed_message(discarded: _core.Record) -> _core.Message:
    """A discarded half message as a transaction of its own, which nobody was asked about yet."""
    # Compat: by either of these, and by a count above 0, a half message is a copy of an earlier one.
    of_copies = (properties.ROOT, properties.PREPARED_QUEUE_OFFSET)
    pairs = {name: value for name, value in discarded.properties.items() if name not in of_copies}
    pairs[properties.CHECK_TIMES] = "0"
    return _core.Message.copy_of(
        discarded,
        topic=HALF_TOPIC,
        queue_id=HALF_QUEUE_ID,
        properties=properties.encode(pairs),
        keeps_store_host=True,
    )


def _with_root(pairs: Mapping[str, str], transaction: Transaction) -> Mapping[str, str]:
    """Compat: Apache takes half messages whose properties leave it no room; group and id tell then what is a copy."""
    with_root = {**pairs, properties.ROOT: f"{transaction.root_log_offset},{transaction.root_store_ms}"}
    return with_root if properties.encoded_size(with_root) <= PROPERTIES_SIZE_MAX_BYTES else pairs
