"""Answers that wait until name servers know of a topic, so that whoever is told of it can look it up."""

import math
from collections.abc import Collection
from typing import Generic, TypeVar

from msgspec import Struct

Held = TypeVar("Held")
Ticket = tuple[int, int]
"""A request to a name server: its connection and its number."""


class _Batch(Struct, Generic[Held]):
    tickets: frozenset[Ticket]
    deadline_ms: int
    answers: list[Held]


class HeldAnswers(Generic[Held]):
    """Batches of answers, each with the requests to name servers that it waits for, and until when."""

    def __init__(self, *, wait_ms: int) -> None:
        self._wait_ms = wait_ms
        self._batches: list[_Batch[Held]] = []

    def hold(self, answers: list[Held], tickets: Collection[Ticket], *, now_ms: int) -> None:
        """Keeps answers until the tickets are used up, or the time is."""
        if answers:
            self._batches.append(_Batch(frozenset(tickets), now_ms + self._wait_ms, answers))

    def release(self, open_tickets: Collection[Ticket], *, now_ms: int) -> list[Held]:
        """The answers that have waited long enough."""
        still, released = [], []
        for batch in self._batches:
            if batch.deadline_ms <= now_ms or batch.tickets.isdisjoint(open_tickets):
                released.extend(batch.answers)
            else:
                still.append(batch)
        self._batches = still
        return released

    def next_deadline_ms(self) -> float:
        """Until when the first of them waits; infinity if none does."""
        return min((batch.deadline_ms for batch in self._batches), default=math.inf)
