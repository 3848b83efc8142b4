"""Numbers of the room since the start, for monitors."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Final

from escrowmq.telemetry.metrics import Histogram
from escrowmq.transaction.decisions import Decision

FINISH_BOUNDS_S: Final = (5.0, 60.0, 600.0, 3_600.0, 43_200.0, 86_400.0)
"""Compat: up to these ages commits are told apart."""


@dataclass
class Counters:
    """What happened so far; what is kept by topic has no more topics than transactions had."""

    prepared: Counter[str] = field(default_factory=Counter)
    committed: Counter[str] = field(default_factory=Counter)
    rolled_back: Counter[str] = field(default_factory=Counter)
    # How old messages were when they were committed, since they were born, in whole seconds.
    finish_s: defaultdict[str, Histogram] = field(
        default_factory=lambda: defaultdict(lambda: Histogram(FINISH_BOUNDS_S))
    )
    discarded: int = 0
    contradictions: int = 0
    checks_asked: int = 0
    checks_answered: int = 0

    def decided(self, decision: Decision, topic: str) -> None:
        """Counts a decision about a message for a topic."""
        match decision:
            case Decision.COMMIT:
                self.committed[topic] += 1
            case Decision.ROLLBACK:
                self.rolled_back[topic] += 1
            case Decision.DISCARD:
                self.discarded += 1

    def delivered(self, topic: str, *, age_ms: int) -> None:
        """Counts how long a message of a topic took to be committed. A producer's clock may be ahead of ours."""
        self.finish_s[topic].add(max(0, age_ms) // 1_000)
