"""Sweeping: rows of transactions that nobody can ask about any more are taken away.

Rows go and the bound moves in one transaction, and a check reads the bound after it has looked for the row: so nobody
takes a row that was swept for one that never was. The bound never passes the oldest transaction that is pending at a
broker of the group, since its row is still to be asked for. It never goes back, either.
"""

from typing import Final

from msgspec import Struct

from escrowmq.sql.database import Database, now_ms
from escrowmq.sql.ports import Runner
from escrowmq.sql.statements import INSERT_STATE, READ_STATE, SWEEP, SWEPT, UPDATE_STATE
from escrowmq.sql.values import first_id

_HOUR_MS: Final = 3_600_000
KEEP_MS: Final = 72 * _HOUR_MS
"""What Apache's brokers keep, unless told otherwise: a half message that is older is gone there."""
SKEW_MS: Final = _HOUR_MS
"""How far the clocks of services and brokers may be apart: ids are made by the ones, pending times by the others."""


class Swept(Struct, frozen=True):
    """What a sweep has done: how many rows are gone, and the time before which nothing is known any more."""

    rows: int
    before_ms: int


def bound_ms(*, at_ms: int, keep_ms: int, oldest_pending_ms: int | None) -> int:
    """Up to which time rows may go."""
    wanted = at_ms - keep_ms - SKEW_MS
    return wanted if oldest_pending_ms is None else min(wanted, oldest_pending_ms - SKEW_MS)


def sweep(
    database: Database,
    group: str,
    *,
    oldest_pending_ms: int | None,
    keep_ms: int = KEEP_MS,
    at_ms: int | None = None,
) -> Swept:
    """Takes away what is old enough of a group's rows."""
    at_ms = now_ms() if at_ms is None else at_ms
    before_ms = bound_ms(at_ms=at_ms, keep_ms=keep_ms, oldest_pending_ms=oldest_pending_ms)
    bound, name = first_id(before_ms), SWEPT + group

    def swept(runner: Runner) -> int:
        if not runner.run(READ_STATE, name).rows:
            runner.run(INSERT_STATE, name, bound)
        else:
            runner.run(UPDATE_STATE, bound, name, bound)
        # Whoever has moved it further has taken more away already.
        return runner.run(SWEEP, group, bound).count

    return Swept(database.connected(swept), before_ms)
