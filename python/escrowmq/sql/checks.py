"""The check: what became of a transaction, asked on a connection of its own, dialect by dialect.

The user's transaction inserts its row before the first message is prepared, and a check follows a prepare. So whoever
checks finds one of these:

- the row, committed: the transaction is. The answer is in the row itself.
- the row, locked: the transaction goes on, or ends just now. Nobody knows, and nobody waits for it.
- no row, and nobody who could still bring it: the transaction is rolled back, or its connection is dead. To make sure
  the check inserts the row itself, as 'R', and commits that before it answers: whoever comes late finds the id taken.

What a check reads has to be newer than what its insert found. A snapshot that is older could miss that a sweep has
taken a committed row away and moved the bound; then 'R' would stand where 'C' was. Hence READ COMMITTED, one snapshot
for each statement, and the bound is read after the insert. Anything that is not one of these cases raises, or is
UNKNOWN: a rollback that is wrong loses a message, a question too many costs a minute.
"""

from collections.abc import Callable
from typing import Final

from escrowmq.sql.ports import Connection, Row, Runner
from escrowmq.sql.running import DriverRunner
from escrowmq.sql.statements import DATABASE, INSERT_ROLLBACK, READ, READ_STATE, SWEPT
from escrowmq.sql.values import BarrierKey, Verdict

Check = Callable[[Connection, str, BarrierKey], Verdict]

_DECISIONS: Final = {"C": Verdict.COMMITTED, "R": Verdict.ROLLED_BACK}


def check_postgresql(connection: Connection, paramstyle: str, key: BarrierKey) -> Verdict:
    """Inserts first, and sees whether somebody was there: a row that is locked makes that wait, and give up soon.

    ON CONFLICT DO NOTHING also passes over a row that was committed after the statement began, which the statement
    itself can't see. So the row is read by a second one. On a replica the insert fails, as it should.
    """
    runner = DriverRunner(connection, paramstyle)
    runner.run("SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE")
    runner.run("SET LOCAL lock_timeout = '200ms'")
    is_inserted = runner.run(f"{INSERT_ROLLBACK} ON CONFLICT (id) DO NOTHING", *_row(key)).count == 1
    return _concluded(connection, runner, key, None if is_inserted else runner.run(READ, key.id).rows)


def check_mysql(connection: Connection, paramstyle: str, key: BarrierKey) -> Verdict:
    """Reads with a lock, which sees what is committed now and not a snapshot, and does not wait for whoever has one.

    Under READ COMMITTED a row that is not there locks no gap, so the insert can meet one that came in between: that is
    an error, or a wait of a second and an error. INSERT IGNORE would make a success of both.
    """
    runner = DriverRunner(connection, paramstyle)
    runner.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE")
    runner.run("SET SESSION innodb_lock_wait_timeout = 1")
    found = runner.run(f"{READ} FOR UPDATE NOWAIT", key.id).rows
    if not found:
        runner.run(INSERT_ROLLBACK, *_row(key))
    return _concluded(connection, runner, key, found or None)


def check_sqlite(connection: Connection, paramstyle: str, key: BarrierKey) -> Verdict:
    """Takes the only write lock: whoever has inserted a row and not ended has it, and then nobody knows."""
    runner = DriverRunner(connection, paramstyle)
    runner.run("PRAGMA busy_timeout = 200")
    runner.run("BEGIN IMMEDIATE")
    found = runner.run(READ, key.id).rows
    if not found:
        runner.run(INSERT_ROLLBACK, *_row(key))
    return _concluded(connection, runner, key, found or None)


CHECKS: Final[dict[str, Check]] = {"postgresql": check_postgresql, "mysql": check_mysql, "sqlite": check_sqlite}


def _row(key: BarrierKey) -> tuple[str, str, str]:
    return key.id, key.database_id, key.group


def _concluded(connection: Connection, runner: Runner, key: BarrierKey, found: list[Row] | None) -> Verdict:
    """The verdict, from the row that was found; without one, 'R' has just been inserted."""
    if not _is_answerable(runner, key):
        connection.rollback()
        return Verdict.UNKNOWN
    if found is None:
        # Durable before it is told: a broker that has heard "rolled back" does not ask again.
        connection.commit()
        return Verdict.ROLLED_BACK
    connection.rollback()
    # A row that was there for the insert, and is not for the read, was swept meanwhile.
    if not found:
        return Verdict.UNKNOWN
    ((decision, database_id),) = found
    return _DECISIONS.get(decision, Verdict.UNKNOWN) if database_id == key.database_id else Verdict.UNKNOWN


def _is_answerable(runner: Runner, key: BarrierKey) -> bool:
    """Whether this is the database that the transaction was in, and its row, had there been one, would be there."""
    if runner.run(READ_STATE, DATABASE).rows != [(key.database_id,)]:
        return False
    bounds = [bound for (bound,) in runner.run(READ_STATE, SWEPT + key.group).rows]
    return all(key.id >= bound for bound in bounds)
