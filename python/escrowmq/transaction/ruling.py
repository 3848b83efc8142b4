"""What an END and a check come to: pure functions of what was asked, what is known, the rules and the clock."""

from enum import Enum, auto

from msgspec import Struct

from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.ports import State, Transaction


class End(Struct, frozen=True):
    """What END_TRANSACTION says, or an operator. Without a decision the producer does not know yet."""

    group: str
    half_offset: int
    log_offset: int
    decision: Decision | None
    who: str
    is_from_check: bool = False
    is_forced: bool = False


class Ruling(Enum):
    """What an END comes to."""

    DECIDE = auto()
    REPEAT = auto()
    CONTRADICTION = auto()


def rule_on_end(decision: Decision, state: State) -> Ruling:
    """The first decision counts, whatever comes later.

    A rollback of what was discarded repeats: both say that there is no message.
    """
    if state == "pending":
        return Ruling.DECIDE
    is_for_message = decision is Decision.COMMIT
    return Ruling.REPEAT if is_for_message == (state == "committed") else Ruling.CONTRADICTION


class CheckRules(Struct, frozen=True):
    """How producers are asked."""

    timeout_ms: int
    checks_max: int
    retention_ms: int


class Verdict(Enum):
    """What a check round does with a half message."""

    WAIT = auto()
    ASK = auto()
    ASK_AGAIN = auto()
    DISCARD = auto()


def judge(transaction: Transaction, immunity: str | None, rules: CheckRules, *, age_ms: int) -> Verdict:
    """What a round does with a pending transaction. `immunity` is the property of its half message.

    A question that did not leave is asked again and not counted, and nothing is discarded before its last one has left.
    """
    if age_ms > rules.retention_ms:
        return Verdict.DISCARD
    # Younger than nothing: its producer is asked, since its age can't be told.
    if 0 <= age_ms < immunity_ms(immunity, rules):
        return Verdict.WAIT
    if transaction.checks > 0 and not transaction.is_asked:
        return Verdict.ASK_AGAIN
    return Verdict.DISCARD if transaction.checks >= rules.checks_max else Verdict.ASK


def immunity_ms(text: str | None, rules: CheckRules) -> int:
    """How long a half message is not asked about. Compat: what is no number of seconds counts as not given."""
    if text is None or not text.strip().isdecimal() or len(text) > len(str(2**31)):
        return rules.timeout_ms
    return int(text) * 1_000
