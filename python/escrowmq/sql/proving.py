"""The proof, on the real database: an open transaction is unknown, one that was rolled back is, a committed one is."""

import logging
from collections.abc import Callable
from typing import Final

from escrowmq.errors import DatabaseRefused
from escrowmq.sql.database import Database
from escrowmq.sql.ports import Runner
from escrowmq.sql.running import DriverRunner
from escrowmq.sql.sources import awaiting
from escrowmq.sql.values import BarrierKey, Verdict

_LOG: Final = logging.getLogger("escrowmq.sql")
_BEGIN: Final = {"sqlite": "BEGIN"}


def prove(database: Database, group: str) -> None:
    """Runs three transactions, and asks about each; nothing of them is left.

    Raises:
        DatabaseRefused: An answer is not what it has to be; the reason is `unproved`.
    """
    keys: list[BarrierKey] = []

    def key() -> BarrierKey:
        keys.append(database.new_key(group))
        return keys[-1]

    try:
        awaiting(database.source, lambda: _run(database, key))
    finally:
        database.connected(lambda runner: _clean(database, runner, keys))


def _run(database: Database, new_key: Callable[[], BarrierKey]) -> None:
    with database.source.connect() as connection:
        runner = DriverRunner(connection, database.source.paramstyle)
        rolled_back, committed = new_key(), new_key()
        _insert(database, runner, rolled_back)
        _expect(database, rolled_back, Verdict.UNKNOWN, "an open transaction")
        connection.rollback()
        _expect(database, rolled_back, Verdict.ROLLED_BACK, "a transaction that was rolled back")
        _insert(database, runner, committed)
        connection.commit()
        _expect(database, committed, Verdict.COMMITTED, "a committed transaction")


def _clean(database: Database, runner: Runner, keys: list[BarrierKey]) -> None:
    for key in keys:
        database.delete(runner, key)


def _insert(database: Database, runner: Runner, key: BarrierKey) -> None:
    if database.dialect_name in _BEGIN:
        runner.run(_BEGIN[database.dialect_name])
    database.insert(runner, key)


def _expect(database: Database, key: BarrierKey, expected: Verdict, what: str) -> None:
    found = Verdict.UNKNOWN
    try:
        found = database.check(key)
    except Exception as error:  # noqa: BLE001 - whatever a driver raises; an open transaction raises something
        _LOG.debug("the check of %s raised: %s", what, error)
    if found is not expected:
        raise DatabaseRefused(f"{what} is {found.value} to the barrier, not {expected.value}", reason="unproved")
