"""A database that has a barrier: its id, checks in it, and why it is refused if it is."""

import time
from collections.abc import Callable, Collection
from typing import Final, TypeVar

from escrowmq.errors import DatabaseRefused
from escrowmq.sql.checks import CHECKS
from escrowmq.sql.ports import Connection, Runner, Source
from escrowmq.sql.running import DriverRunner
from escrowmq.sql.sources import awaiting, source_of
from escrowmq.sql.statements import (
    DATABASE,
    DELETE,
    INSERT,
    INSERT_STATE,
    READ_NAMES,
    READ_STATE,
    REMEMBER,
    TABLES,
    TOPIC,
)
from escrowmq.sql.values import BarrierKey, Verdict, new_database_id, new_id

T = TypeVar("T")

_REPLICA_QUERIES: Final = {
    "postgresql": ("SELECT 1 WHERE pg_is_in_recovery()",),
    "mysql": ("SELECT 1 FROM (SELECT @@read_only AS flag) AS server WHERE flag <> 0",),
    "sqlite": (),
}


def now_ms() -> int:
    """The time of day, which new ids begin with."""
    return time.time_ns() // 1_000_000


class Database:
    """Looked at once, when it is made.

    Raises:
        DatabaseRefused: No barrier can stand in it, or none does; the reason is one word.
    """

    def __init__(self, source: Source, *, name: str = "") -> None:
        self.name = name
        self.source = source
        self.dialect_name = source.dialect_name
        # What is in the barrier already, as far as this process knows: entries are made once.
        self._remembered: set[str] = set()
        try:
            self.id = self.connected(self._look)
        except BaseException:
            source.close()
            raise

    @classmethod
    def of(cls, database: object, *, name: str = "") -> "Database":
        """An engine, its URL, or a function that connects."""
        return cls(source_of(database), name=name)

    def new_key(self, group: str) -> BarrierKey:
        """A key that no transaction had before."""
        return BarrierKey(new_id(now_ms()), self.id, group)

    def check(self, key: BarrierKey) -> Verdict:
        """What became of a transaction. Raises whatever the driver does: then nobody knows."""
        return self._with_connection(lambda connection: CHECKS[self.dialect_name](connection, self._paramstyle, key))

    def insert(self, runner: Runner, key: BarrierKey) -> None:
        """Inserts a transaction's row into that transaction.

        Raises:
            DatabaseRefused: The connection is to another database.
        """
        if runner.run(INSERT, key.id, key.group, key.database_id).count != 1:
            raise DatabaseRefused(
                f"the transaction is in another database than {self.name or 'the escrow knows'}", reason="foreign"
            )

    def delete(self, runner: Runner, key: BarrierKey) -> None:
        """Takes the row back out, in the same transaction."""
        runner.run(DELETE, key.id)

    def remember(self, runner: Runner, group: str, topics: Collection[str]) -> None:
        """Notes where a group sends to, in the user's transaction, so that brokers hear of a service when it starts."""
        for name in sorted(f"{TOPIC}{group}:{topic}" for topic in topics):
            if name not in self._remembered:
                runner.run(REMEMBER[self.dialect_name], name, TOPIC)

    def remembered(self, group: str, topics: Collection[str]) -> None:
        """The transaction that noted them is committed."""
        self._remembered.update(f"{TOPIC}{group}:{topic}" for topic in topics)

    def topics(self, group: str) -> set[str]:
        """Where a group has sent to."""
        start = f"{TOPIC}{group}:"
        names = self.connected(lambda runner: [str(row[0]) for row in runner.run(READ_NAMES, TOPIC).rows])
        return {name.removeprefix(start) for name in names if name.startswith(start)}

    def connected(self, work: Callable[[Runner], T]) -> T:
        """Does work in a transaction of its own, which is committed."""

        def committed(connection: Connection) -> T:
            runner = DriverRunner(connection, self._paramstyle)
            if self.dialect_name == "sqlite":
                runner.run("BEGIN IMMEDIATE")
            result = work(runner)
            connection.commit()
            return result

        return self._with_connection(committed)

    def close(self) -> None:
        """Closes connections of its own; the user's stay."""
        self.source.close()

    def _with_connection(self, work: Callable[[Connection], T]) -> T:
        def connected() -> T:
            with self.source.connect() as connection:
                return work(connection)

        return awaiting(self.source, connected)

    @property
    def _paramstyle(self) -> str:
        return self.source.paramstyle

    def _look(self, runner: Runner) -> str:
        """The id of the database, once it is known that it may have a barrier."""
        if self.dialect_name == "sqlite" and not _sqlite_file(runner):
            raise DatabaseRefused("a database in memory is gone when its messages are asked about", reason="memory")
        if any(runner.run(query).rows for query in _REPLICA_QUERIES[self.dialect_name]):
            raise DatabaseRefused("a replica can't say that a transaction will never commit", reason="replica")
        if not _has_tables(runner, self.dialect_name):
            raise DatabaseRefused("there is no barrier yet: `escrowmq barrier init URL` makes it", reason="no-barrier")
        return _database_id(runner)


def create_barrier(source: Source) -> None:
    """Makes the tables where they are missing."""

    def created() -> None:
        with source.connect() as connection:
            runner = DriverRunner(connection, source.paramstyle)
            for statement in TABLES[source.dialect_name]:
                runner.run(statement)
            connection.commit()

    awaiting(source, created)


def _sqlite_file(runner: Runner) -> str:
    return next((str(row[2] or "") for row in runner.run("PRAGMA database_list").rows if row[1] == "main"), "")


def _has_tables(runner: Runner, dialect_name: str) -> bool:
    """Whether both tables are there, and keep transactions apart.

    Raises:
        DatabaseRefused: They are of an engine that has no transactions.
    """
    if dialect_name == "sqlite":
        query = "SELECT name, 'InnoDB' FROM sqlite_master WHERE type = 'table' AND name IN (?, ?)"
    elif dialect_name == "postgresql":
        query = (
            "SELECT relname, 'InnoDB' FROM pg_class "
            "WHERE relkind IN ('r', 'p') AND pg_table_is_visible(oid) AND relname IN (?, ?)"
        )
    else:
        query = (
            "SELECT table_name, engine FROM information_schema.tables "
            "WHERE table_schema = DATABASE() AND table_name IN (?, ?)"
        )
    engines: dict[str, str] = dict(runner.run(query, "escrowmq_barrier", "escrowmq_barrier_state").rows)
    wrong = sorted({str(engine) for engine in engines.values()} - {"InnoDB"})
    if wrong:
        raise DatabaseRefused(f"tables of {wrong[0]} have no transactions; InnoDB's have", reason=wrong[0].lower())
    return len(engines) == len(("escrowmq_barrier", "escrowmq_barrier_state"))


def _database_id(runner: Runner) -> str:
    """The id that the database has, or gets now: tables that a migration made have none yet."""
    found = runner.run(READ_STATE, DATABASE).rows
    if not found:
        runner.run(INSERT_STATE, DATABASE, new_database_id())
        found = runner.run(READ_STATE, DATABASE).rows
    return str(found[0][0])
