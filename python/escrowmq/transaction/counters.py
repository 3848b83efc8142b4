"""Numbers of the room since the start, for monitors."""

from dataclasses import dataclass

from escrowmq.transaction.decisions import Decision


@dataclass
class Counters:
    """What happened so far."""

    prepared: int = 0
    committed: int = 0
    rolled_back: int = 0
    discarded: int = 0
    contradictions: int = 0
    checks_asked: int = 0
    checks_answered: int = 0

    def decided(self, decision: Decision) -> None:
        """Counts a decision."""
        match decision:
            case Decision.COMMIT:
                self.committed += 1
            case Decision.ROLLBACK:
                self.rolled_back += 1
            case Decision.DISCARD:
                self.discarded += 1
