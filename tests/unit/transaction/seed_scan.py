"""Seed 001's scan of the half queue, step by step: the oracle that the index is held against.

It reads a store as an Apache broker would that takes it over, and writes nothing: what it would put back and ask about,
it collects.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from escrowmq import _core
from escrowmq.protocol import properties
from escrowmq.transaction.topics import HALF_TOPIC, OP_TOPIC

OP_PULL_COUNT = 32
NULL_COUNT_MAX = 1


@dataclass
class Scan:
    """What a round comes to."""

    half_offset: int
    op_offset: int
    asked: list[int] = field(default_factory=list)
    discarded: list[int] = field(default_factory=list)


@dataclass
class _Pull:
    """The result of one pull of op messages; `found` is None where there was none."""

    found: Sequence[_core.Record] | None
    next_offset: int


def check(
    store: _core.Store,
    half_offset: int,
    op_offset: int,
    *,
    now_ms: int,
    timeout_ms: int = 6_000,
    checks_max: int = 15,
    retention_ms: int = 1 << 50,
) -> Scan | None:
    """Steps 3 to @14 for the one half queue; None where the queue is skipped."""
    if half_offset < 0 or op_offset < 0:
        return None
    scan = Scan(half_offset, op_offset)
    done_ops: list[int] = []
    removed: dict[int, int] = {}
    pull = _fill_op_remove_map(store, removed, op_offset, half_offset, done_ops)
    null_count = 1
    place = half_offset
    while True:
        if place in removed:
            done_ops.append(removed.pop(place))
        else:
            found = store.read(HALF_TOPIC, 0, place, count_max=1)
            if not found:
                if null_count > NULL_COUNT_MAX:
                    break
                null_count += 1
                queue = store.queue(HALF_TOPIC, 0)
                if queue is None or place >= queue.max_offset:
                    break
                place = scan.half_offset = queue.min_offset
                continue
            (half,) = found
            checks = int(half.find_property(properties.CHECK_TIMES) or 0)
            if checks >= checks_max or now_ms - half.born_timestamp_ms > retention_ms:
                scan.discarded.append(place)
                place += 1
                scan.half_offset = place
                continue
            if half.store_timestamp_ms >= now_ms:
                break
            age_ms = now_ms - half.born_timestamp_ms
            is_needed = (
                (pull.found is None and age_ms > timeout_ms)
                or (pull.found is not None and pull.found[-1].born_timestamp_ms - now_ms > timeout_ms)
                or age_ms <= -1
            )
            if not is_needed:
                pull = _fill_op_remove_map(store, removed, pull.next_offset, half_offset, done_ops)
                continue
            scan.asked.append(place)
        place += 1
        scan.half_offset = place
    scan.op_offset = _calculate_op_offset(done_ops, op_offset)
    return scan


def _fill_op_remove_map(
    store: _core.Store, removed: dict[int, int], op_offset: int, half_offset: int, done_ops: list[int]
) -> _Pull:
    found = store.read(OP_TOPIC, 0, op_offset, count_max=OP_PULL_COUNT)
    if not found:
        return _Pull(None, op_offset)
    for op in found:
        assert op.find_property(properties.TAGS) == "d"
        named = [int(number) for number in bytes(op.body).decode().split(",") if number]
        behind = [number for number in named if number >= half_offset]
        removed.update(dict.fromkeys(behind, op.queue_offset))
        if not behind:
            done_ops.append(op.queue_offset)
    return _Pull(found, op_offset + len(found))


def _calculate_op_offset(done_ops: list[int], op_offset: int) -> int:
    """As far as op messages are done without a gap."""
    for done in sorted(set(done_ops)):
        if done != op_offset:
            break
        op_offset += 1
    return op_offset
