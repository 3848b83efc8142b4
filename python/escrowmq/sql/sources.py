"""Where the escrow's own connections come from: a pool beside that of an engine, or a function of the user's.

Not from the user's own pool: a check must not wait until the transaction that it is about gives its connection back.
"""

import asyncio
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from escrowmq.errors import DatabaseRefused, MissingExtra
from escrowmq.sql.ports import Connection, Source

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.ext.asyncio import AsyncEngine

T = TypeVar("T")

# By the module that a connection's class is in.
_DRIVERS: Final = {
    "sqlite3": "sqlite",
    "psycopg": "postgresql",
    "psycopg2": "postgresql",
    "pymysql": "mysql",
    "MySQLdb": "mysql",
    "mariadb": "mysql",
    "mysql": "mysql",
}
_DIALECTS: Final = {"sqlite": "sqlite", "postgresql": "postgresql", "mysql": "mysql", "mariadb": "mysql"}


def source_of(database: object) -> Source:
    """Connections to what a user calls a database: an engine, its URL, or a function that connects.

    Raises:
        DatabaseRefused: It is none of them, or of a kind that no barrier was written for.
        MissingExtra: It takes SQLAlchemy, which is not installed.
    """
    if isinstance(database, str):
        return EngineSource(_sqlalchemy().create_engine(database))
    if callable(database):
        return FunctionSource(database)
    if "sqlalchemy" in sys.modules:
        if isinstance(database, _sqlalchemy().Engine):
            return EngineSource(database)
        if hasattr(database, "sync_engine"):
            return AsyncEngineSource(cast("AsyncEngine", database))
    raise DatabaseRefused(
        f"{database!r} is no engine of SQLAlchemy, no URL and no function that connects", reason="kind"
    )


def driver_of(connection: object) -> tuple[str, str]:
    """Dialect and paramstyle of a connection of PEP 249.

    Raises:
        DatabaseRefused: No barrier was written for it.
    """
    module_name = type(connection).__module__.partition(".")[0]
    if module_name not in _DRIVERS:
        raise DatabaseRefused(f"no barrier was written for connections of {module_name}", reason="kind")
    package = "mysql.connector" if module_name == "mysql" else module_name
    paramstyle: str = importlib.import_module(package).paramstyle
    return _DRIVERS[module_name], paramstyle


class FunctionSource:
    """Connections that a function of the user's makes, one for each use."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        connection = connect()
        try:
            self.dialect_name, self.paramstyle = driver_of(connection)
        finally:
            connection.close()

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """A connection."""
        connection = self._connect()
        try:
            _begin_by_itself(connection, self.dialect_name)
            yield connection
        finally:
            connection.close()

    def close(self) -> None:
        """Nothing waits to be used again."""


class EngineSource:
    """Connections as an engine makes them, in a pool beside its own."""

    def __init__(self, engine: "Engine") -> None:
        self.dialect_name = _dialect_of(engine)
        self.paramstyle: str = engine.dialect.paramstyle
        self._engine = engine
        self._pool = engine.pool.recreate()
        self._process_id = os.getpid()
        self._inherited: list[object] = []

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """A connection; what is left open in it is rolled back."""
        if self._process_id != os.getpid():
            # The parent goes on with its connections. To drop them here would say goodbye to the server for it.
            self._inherited.append(self._pool)
            self._pool, self._process_id = self._engine.pool.recreate(), os.getpid()
        with _pooled(self._pool, self.dialect_name) as connection:
            yield connection

    def close(self) -> None:
        """Closes the connections that wait for use."""
        self._pool.dispose()


class AsyncEngineSource:
    """Connections as an async engine makes them. They belong to an event loop, so each use has a pool of its own."""

    def __init__(self, engine: "AsyncEngine") -> None:
        self.dialect_name = _dialect_of(engine.sync_engine)
        self.paramstyle: str = engine.dialect.paramstyle
        self._engine = engine.sync_engine

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """A connection; only where SQLAlchemy lets synchronous code await, as in `awaiting`."""
        pool = self._engine.pool.recreate()
        try:
            with _pooled(pool, self.dialect_name) as connection:
                yield connection
        finally:
            pool.dispose()

    def close(self) -> None:
        """Nothing waits to be used again."""


def awaiting(source: Source, work: Callable[[], T]) -> T:
    """Does work that connects to a source, in an event loop where that needs one and there is none."""
    if not isinstance(source, AsyncEngineSource):
        return work()
    concurrency = importlib.import_module("sqlalchemy.util.concurrency")
    if concurrency.in_greenlet():
        return work()

    async def awaited() -> T:
        result: T = await concurrency.greenlet_spawn(work)
        return result

    return asyncio.run(awaited())


@contextmanager
def _pooled(pool: Any, dialect_name: str) -> Iterator[Connection]:
    connection = pool.connect()
    try:
        _begin_by_itself(connection.dbapi_connection, dialect_name)
        yield connection
    except BaseException:
        # A check that fails half way may hold a lock that others wait for.
        try:
            connection.rollback()
        except Exception:  # noqa: BLE001 - whatever a driver raises
            connection.invalidate()
        raise
    finally:
        connection.close()


def _begin_by_itself(connection: Any, dialect_name: str) -> None:
    """Has a driver begin transactions as PEP 249 says, however the user sets it up; SQLite's are begun in words."""
    if dialect_name == "sqlite":
        if hasattr(connection, "autocommit"):
            connection.autocommit = -1
        connection.isolation_level = None
    elif callable(getattr(connection, "autocommit", None)):
        connection.autocommit(False)  # noqa: FBT003 - the driver's own
    elif getattr(connection, "autocommit", False):
        connection.autocommit = False


def _dialect_of(engine: "Engine") -> str:
    name = _DIALECTS.get(engine.dialect.name)
    if name is None:
        raise DatabaseRefused(f"no barrier was written for {engine.dialect.name}", reason="kind")
    return name


def _sqlalchemy() -> Any:
    try:
        return importlib.import_module("sqlalchemy")
    except ImportError as error:
        raise MissingExtra("SQLAlchemy is missing: pip install 'escrowmq[sql]'", extra="sql") from error
