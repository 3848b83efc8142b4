"""`with escrow.transaction(connection)`: a transaction of a connection, and the messages that depend on it.

A savepoint at its beginning must still be there at its end. COMMIT, ROLLBACK and statements that commit by themselves,
as MySQL's CREATE TABLE, take it away: so what was committed behind our back, before its message was safe, is noticed.
"""

import contextlib
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

from escrowmq.errors import DatabaseRefused, OutsideTransaction
from escrowmq.sql.crossing import Crossing, cross
from escrowmq.sql.databases import Databases
from escrowmq.sql.ports import Desk, Runner
from escrowmq.sql.values import Deposit, Draft, Result

_SAVEPOINT: Final = "escrowmq_transaction"
# A transaction in which a statement has failed, to PostgreSQL: nothing can be said of its savepoints.
_FAILED_TRANSACTION: Final = "25P02"


class Ground:
    """What a block stands on: how statements run, and how the transaction begins and ends."""

    def __init__(
        self,
        runner: Runner,
        *,
        begin: Callable[[], object],
        commit: Callable[[], object],
        rollback: Callable[[], object],
    ) -> None:
        self.runner = runner
        self.begin = begin
        self.commit = commit
        self.rollback = rollback


class TransactionBlock:
    """Use it as a context manager: it commits at its end, and rolls back on an exception."""

    def __init__(self, ground: Ground, databases: Databases, desk: Desk, group: str) -> None:
        self._ground = ground
        self._databases = databases
        self._desk = desk
        self._group = group
        self._deposits: list[Deposit] = []
        self._crossings: list[Crossing] = []
        self._is_open = False
        self.result = Result.WAITING

    def deposit(self, draft: Draft) -> Deposit:
        """Collects a message.

        Raises:
            OutsideTransaction: The block is not open.
        """
        if not self._is_open:
            raise OutsideTransaction("the block of the transaction is not open")
        deposit = Deposit(draft)
        self._deposits.append(deposit)
        return deposit

    def __enter__(self) -> Self:
        self._ground.begin()
        self._ground.runner.run(f"SAVEPOINT {_SAVEPOINT}")
        self._is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        if error is not None:
            self._roll_back()
            return
        self._cross()
        try:
            self._ground.commit()
        except BaseException:
            self._roll_back()
            raise
        self.result = Result.COMMITTED
        for crossing in self._crossings:
            self.result = crossing.committed()

    def _cross(self) -> None:
        """Row and prepares; whatever fails rolls the transaction back."""
        try:
            self._release()
            if self._deposits:
                runner = self._ground.runner
                database = self._databases.of(runner, None)
                cross(
                    lambda: Crossing(database, self._desk, self._group, self._deposits),
                    runner,
                    begun=self._crossings.append,
                )
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        """What was raised counts, not what a dead connection says to a rollback. Then it is looked up how it ended."""
        with contextlib.suppress(Exception):
            self._ground.rollback()
        self._conclude(Result.ROLLED_BACK)
        for crossing in self._crossings:
            self.result = crossing.otherwise()

    def _release(self) -> None:
        try:
            self._ground.runner.run(f"RELEASE SAVEPOINT {_SAVEPOINT}")
        except Exception as error:
            if _sql_state(error) == _FAILED_TRANSACTION:
                raise
            raise OutsideTransaction(
                "the transaction has ended inside its block: leave commit() and rollback() to the block"
            ) from error

    def _conclude(self, result: Result) -> None:
        self.result = result
        for deposit in self._deposits:
            deposit.result = result


def _sql_state(error: BaseException) -> Any:
    original = getattr(error, "orig", None) or error
    return getattr(original, "sqlstate", None) or getattr(original, "pgcode", None)


def refuse_nested(*, is_nested: bool) -> None:
    """Refuses a connection that is in a savepoint: whoever opened it still has a say.

    Raises:
        DatabaseRefused: It is.
    """
    if is_nested:
        raise DatabaseRefused("the connection is in a savepoint, which is not the transaction's end", reason="nested")
