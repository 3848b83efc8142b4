"""One database transaction on its way over the barrier: its row, its half messages, and what becomes of them.

    insert row ──▶ prepare all ──▶ (the user's COMMIT) ──▶ committed() ──▶ END, commit
         │              └─ fails: delete row, raise
         └── nothing is prepared without its row, and no row is committed without all of its messages

The rest is `otherwise()`: the transaction ended, and nobody said how. Then the barrier is asked, not guessed.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final

from escrowmq.errors import EscrowError, OutsideTransaction
from escrowmq.sql.database import Database
from escrowmq.sql.ports import Desk, Held, Runner
from escrowmq.sql.values import BarrierKey, Deposit, Result, Verdict

_LOG: Final = logging.getLogger("escrowmq.sql")

_TRIES_MAX: Final = 2
_RESULTS: Final = {Verdict.COMMITTED: Result.COMMITTED, Verdict.ROLLED_BACK: Result.ROLLED_BACK}


class Crossing:
    """Messages that wait behind one row."""

    def __init__(self, database: Database, desk: Desk, group: str, deposits: Sequence[Deposit]) -> None:
        self._database = database
        self._desk = desk
        self._deposits = deposits
        self._held: Held = ()
        self._is_abandoned = False
        self._topics: Final = {deposit.draft.topic for deposit in deposits}
        self.key: Final[BarrierKey] = database.new_key(group)

    def enter(self, runner: Runner) -> None:
        """Inserts the row and prepares the messages, in the user's transaction.

        Raises:
            BarrierError: This is no transaction that messages may wait for.
            EscrowError: A message could not be prepared. The row is gone; what was prepared can only be rolled back.
        """
        self._database.insert(runner, self.key)
        try:
            self._database.remember(runner, self.key.group, self._topics)
            self._held = self._desk.prepare([deposit.draft.behind(self.key) for deposit in self._deposits])
        except BaseException as error:
            # Also one that was interrupted: a prepare may have arrived, and must find no row to commit it.
            self._held, self._deposits = getattr(error, "prepared", ()), ()
            self._is_abandoned = True
            self._leave(runner, error)
            raise

    def committed(self) -> Result:
        """The user's COMMIT returned: brokers are told. Never raises, since a caller would do the work again."""
        if self._is_abandoned:
            # The transaction goes without this row, so what waits behind it does not go with the transaction.
            return self.otherwise()
        self._database.remembered(self.key.group, self._topics)
        return self._conclude(Verdict.COMMITTED)

    def otherwise(self) -> Result:
        """The transaction ended otherwise, or its COMMIT failed, which says nothing: the barrier is asked."""
        verdict = probe(self._database, self.key)
        if verdict is Verdict.UNKNOWN:
            return self.left_pending()
        return self._conclude(verdict)

    def left_pending(self) -> Result:
        """Nobody knows yet; the broker will ask."""
        self._assign(Result.PENDING)
        return Result.PENDING

    def _leave(self, runner: Runner, error: BaseException) -> None:
        try:
            self._database.delete(runner, self.key)
        except Exception as failure:  # noqa: BLE001 - whatever a driver raises
            # The row may still be in the transaction, which must not be committed any more.
            raise OutsideTransaction(
                f"the row of a prepare that failed can't be taken back, roll the transaction back: {failure}"
            ) from error

    def _conclude(self, verdict: Verdict) -> Result:
        is_told = not self._held or _settled(self._desk, self._held, verdict)
        result = _RESULTS[verdict] if is_told else Result.PENDING
        self._assign(result)
        return result

    def _assign(self, result: Result) -> None:
        for deposit in self._deposits:
            deposit.result = result


def cross(new: Callable[[], Crossing], runner: Runner, *, begun: Callable[[Crossing], object]) -> None:
    """Takes messages over the barrier, and tries once more where that may help, behind another row.

    Each crossing is told to `begun` before anything of it happens: all of them wait for the transaction's end.

    Raises:
        BarrierError: This is no transaction that messages may wait for.
        EscrowError: A message could not be prepared, twice or where twice would not help.
    """
    for tries_left in reversed(range(_TRIES_MAX)):
        crossing = new()
        begun(crossing)
        try:
            crossing.enter(runner)
        except EscrowError as error:
            reason = error.__cause__ if isinstance(error.__cause__, EscrowError) else error
            if not tries_left or not (error.retriable and reason.retriable):
                raise
            _LOG.warning("a prepare is tried again behind another row: %s", error)
        else:
            return


def probe(database: Database, key: BarrierKey) -> Verdict:
    """The check, where every error means that nobody knows."""
    try:
        return database.check(key)
    except Exception as error:  # noqa: BLE001 - whatever a driver raises
        _LOG.warning("the barrier can't say what became of %s: %s", key.id, error)
        return Verdict.UNKNOWN


def _settled(desk: Desk, held: Held, verdict: Verdict) -> bool:
    try:
        return desk.settle(held, verdict)
    except Exception:  # noqa: BLE001 - after COMMIT nothing may raise
        _LOG.exception("brokers can't be told: %s", verdict.value)
        return False
