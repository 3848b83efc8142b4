"""Sends and decisions, mixed as producers of transactions send them.

    requests, in order ──▶ ordinary prepares ─┐
                       ──▶ decisions ─────────┴─▶ parts: an append of half messages, then one of decisions
                       ──▶ anything else ─────▶ between two parts, by `sends`

Prepares and decisions of a part don't touch each other: who decides knows where the half message is, which it learns
when that is answered. Only a prepare whose id is not new may be one that a decision in the same part is about: it ends
the part.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from escrowmq import _core
from escrowmq.broker.batches import APPEND_SIZE_MAX_BYTES, BatchHandler, appending
from escrowmq.broker.context import Context
from escrowmq.broker.handlers import sends, transactions
from escrowmq.broker.outcome import Outcome
from escrowmq.broker.ports import ClientRequest
from escrowmq.errors import StoreError
from escrowmq.protocol.request_codes import RequestCode

_send: Final[BatchHandler] = appending(sends.send)

Read: TypeAlias = tuple[ClientRequest, _core.Prepare | None]
"""A request, and the half message in it if it is an ordinary prepare."""


def handle(context: Context, requests: Sequence[ClientRequest]) -> list[Outcome]:
    """Handles sends and decisions in their order."""
    return [outcome for part in _parts(context, requests) for outcome in part]


def _parts(context: Context, requests: Sequence[ClientRequest]) -> Iterator[Sequence[Outcome]]:
    takes = _Taking(context)
    prepares = context.stamp.prepares.read(requests)
    read = [
        (request, prepare if prepare is not None and takes.ordinarily(prepare) else None)
        for request, prepare in zip(requests, prepares, strict=True)
    ]
    for is_ordinary, run in groupby(read, key=_is_ordinary):
        if is_ordinary:
            yield from _ordinary_parts(context, list(run))
        else:
            yield _send(context, [request for request, _ in run])


def _is_ordinary(read: Read) -> bool:
    return read[1] is not None or read[0].code == RequestCode.END_TRANSACTION


def _ordinary_parts(context: Context, run: Sequence[Read]) -> Iterator[Sequence[Outcome]]:
    prepares = [prepare for _, prepare in run if prepare is not None]
    is_new = iter(context.transactions.index.are_new(prepares) if prepares else ())
    part: list[Read] = []
    size_bytes = 0
    for request, prepare in run:
        if prepare is not None:
            size_bytes += prepare.size_bytes
            if not next(is_new) or size_bytes > APPEND_SIZE_MAX_BYTES:
                yield _together(context, part)
                # It is handled by itself: whether it was sent before is told when all before it is known.
                yield _send(context, [request])
                part, size_bytes = [], 0
                continue
        part.append((request, prepare))
    yield _together(context, part)


def _together(context: Context, part: Sequence[Read]) -> list[Outcome]:
    """Handles prepares that are new, and decisions."""
    prepared = iter(_prepare(context, [(request, prepare) for request, prepare in part if prepare is not None]))
    ends = [request for request, prepare in part if prepare is None]
    ended = iter(transactions.end(context, ends) if ends else ())
    return [next(ended if prepare is None else prepared) for _, prepare in part]


def _prepare(context: Context, part: Sequence[tuple[ClientRequest, _core.Prepare]]) -> Sequence[Outcome]:
    prepares = [prepare for _, prepare in part]
    if not prepares:
        return []
    try:
        receipts = context.transactions.journal.append([prepare.to_message() for prepare in prepares])
    except StoreError:
        # Nothing was appended: each is told what is wrong with it.
        return _send(context, [request for request, _ in part])
    context.transactions.counters.prepared.update(prepare.topic for prepare in prepares)
    return context.stamp.prepares.answers(prepares, receipts)


class _Taking:
    """Which prepares are taken without a question being asked, by their topics."""

    def __init__(self, context: Context) -> None:
        self._context = context
        # How many queues a topic has; none for one that is to be looked at more closely.
        self._queues: dict[str, int] = {}

    def ordinarily(self, prepare: _core.Prepare) -> bool:
        topic = prepare.topic
        queues = self._queues.get(topic)
        if queues is None:
            queues = self._queues[topic] = transactions.ordinary_queues(self._context, topic)
        return prepare.queue_id < queues
