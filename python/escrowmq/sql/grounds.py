"""What a transaction block stands on: a connection of a driver, or one of SQLAlchemy."""

import sys
from typing import Any

from escrowmq.errors import DatabaseRefused
from escrowmq.sql.block import Ground, refuse_nested
from escrowmq.sql.running import DriverRunner
from escrowmq.sql.sources import driver_of


def ground_of(connection: Any) -> Ground:
    """How statements run on a connection, and how its transaction begins and ends.

    Raises:
        DatabaseRefused: It commits each statement by itself, is in a savepoint, or is of a kind that is not known.
    """
    if "sqlalchemy" in sys.modules and isinstance(connection, sys.modules["sqlalchemy"].Connection):
        return _core_ground(connection)
    return _driver_ground(connection)


def _core_ground(connection: Any) -> Ground:
    from escrowmq.sql.core_runner import CoreRunner, refuse_autocommit  # noqa: PLC0415 - only with SQLAlchemy

    refuse_nested(is_nested=connection.in_nested_transaction())
    runner = CoreRunner(connection)

    def begin() -> None:
        if not connection.in_transaction():
            connection.begin()
        if connection.dialect.name == "sqlite":
            _begin_sqlite(runner, connection.connection.driver_connection)
        refuse_autocommit(connection)

    return Ground(runner, begin=begin, commit=connection.commit, rollback=connection.rollback)


def _driver_ground(connection: Any) -> Ground:
    dialect_name, paramstyle = driver_of(connection)
    _refuse_autocommit(connection)
    runner = DriverRunner(connection, paramstyle)

    def begin() -> None:
        if dialect_name == "sqlite":
            _begin_sqlite(runner, connection)

    return Ground(runner, begin=begin, commit=connection.commit, rollback=connection.rollback)


def _begin_sqlite(runner: Any, driver: Any) -> None:
    """Begins in words: Python's driver does so for some statements only, and a savepoint outside commits by itself."""
    if not driver.in_transaction:
        runner.run("BEGIN")


def _refuse_autocommit(connection: Any) -> None:
    get_autocommit = getattr(connection, "get_autocommit", None)
    flag = get_autocommit() if callable(get_autocommit) else getattr(connection, "autocommit", False)
    is_bare_sqlite = hasattr(connection, "isolation_level") and connection.isolation_level is None
    if flag is True or (hasattr(connection, "in_transaction") and is_bare_sqlite):
        raise DatabaseRefused("the connection commits each statement by itself", reason="autocommit")
