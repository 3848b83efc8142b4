"""Statements of ours on a connection of SQLAlchemy, in its transaction."""

from sqlalchemy import Connection

from escrowmq.errors import DatabaseRefused
from escrowmq.sql.ports import Ran
from escrowmq.sql.running import rendered


class CoreRunner:
    """As the driver wants them: nothing is compiled, nothing is cached."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def run(self, statement: str, *parameters: str) -> Ran:
        """Runs one."""
        text = rendered(statement, self._connection.dialect.paramstyle)
        result = self._connection.exec_driver_sql(text, parameters or None)
        try:
            return Ran([tuple(row) for row in result] if result.returns_rows else [], result.rowcount)
        finally:
            result.close()


def refuse_autocommit(connection: Connection) -> None:
    """Refuses a connection that commits each statement by itself.

    Raises:
        DatabaseRefused: It does.
    """
    is_by_option = connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT"
    # An async driver's connection has a coat that looks synchronous; either may be the one that says so.
    drivers = (connection.connection.dbapi_connection, connection.connection.driver_connection)
    if is_by_option or any(map(commits_by_itself, drivers)):
        raise DatabaseRefused("the connection commits each statement by itself", reason="autocommit")


def commits_by_itself(driver: object) -> bool:
    """Whether a driver's connection does, as far as drivers say so."""
    if hasattr(driver, "in_transaction") and hasattr(driver, "isolation_level"):
        # SQLite: without a level the driver begins nothing, so somebody else must have.
        return driver.isolation_level is None and not driver.in_transaction
    get_autocommit = getattr(driver, "get_autocommit", None)
    if callable(get_autocommit):
        return bool(get_autocommit())
    flag = getattr(driver, "autocommit", False)
    return flag is True
