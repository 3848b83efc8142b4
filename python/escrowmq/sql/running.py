"""Statements of ours on connections of others: placeholders as the driver wants them, rows as tuples."""

import functools
from typing import Final

from escrowmq.sql.ports import Connection, Cursor, Ran

_NUMBERED: Final = {"numeric": ":", "numeric_dollar": "$"}


@functools.cache
def rendered(statement: str, paramstyle: str) -> str:
    """A statement with the placeholders of a driver. None of ours has a `?` or a `%` that is something else."""
    first, *others = statement.split("?")
    if paramstyle == "qmark":
        return statement
    if paramstyle in _NUMBERED:
        mark = _NUMBERED[paramstyle]
        return first + "".join(f"{mark}{number}{text}" for number, text in enumerate(others, 1))
    if paramstyle in {"format", "pyformat"}:
        return "%s".join([first, *others])
    raise ValueError(f"no statement can be written for a driver with paramstyle {paramstyle!r}")


class DriverRunner:
    """Runs statements on a connection of PEP 249, or one that looks like it."""

    def __init__(self, connection: Connection, paramstyle: str) -> None:
        self._connection = connection
        self._paramstyle = paramstyle

    def run(self, statement: str, *parameters: str) -> Ran:
        """Runs one."""
        cursor: Cursor = self._connection.cursor()
        try:
            cursor.execute(rendered(statement, self._paramstyle), parameters)
            rows = [] if cursor.description is None else [tuple(row) for row in cursor.fetchall()]
            return Ran(rows, cursor.rowcount)
        finally:
            cursor.close()
