"""The databases of an escrow: which of them a transaction is in, and which of them a message asks about."""

from collections.abc import Mapping
from typing import Any

from escrowmq.errors import DatabaseRefused
from escrowmq.sql.database import Database
from escrowmq.sql.ports import Runner
from escrowmq.sql.statements import DATABASE, READ_STATE


class Databases:
    """One, or several by name.

    Raises:
        DatabaseRefused: One of them can't have a barrier, or has none; the reason is one word.
    """

    def __init__(self, given: object) -> None:
        self._engines: dict[str, object] = dict(given) if isinstance(given, Mapping) else {"": given}
        self.by_name = {name: Database.of(engine, name=name) for name, engine in self._engines.items()}
        self._by_id = {database.id: database for database in self.by_name.values()}
        if len(self._by_id) < len(self.by_name):
            raise DatabaseRefused("two of these databases have the same id: one is a copy of the other", reason="copy")

    def engine(self, name: str) -> Any:
        """The engine that has a name; of an async one, the one beneath it.

        Raises:
            DatabaseRefused: There is none.
        """
        if name not in self._engines:
            raise DatabaseRefused(f"the escrow knows no database {name!r}", reason="unknown")
        engine = self._engines[name]
        return getattr(engine, "sync_engine", engine)

    def close(self) -> None:
        """Closes connections of its own; those of the user's engines stay."""
        for database in self.by_name.values():
            database.close()

    def with_id(self, database_id: str) -> Database | None:
        """The database that a message names."""
        return self._by_id.get(database_id)

    def of(self, runner: Runner, name: str | None) -> Database:
        """The database that a transaction is in. A single one is not asked: its barrier tells others apart.

        Raises:
            DatabaseRefused: It is none of these.
        """
        if name is not None:
            self.engine(name)
            return self.by_name[name]
        if len(self.by_name) == 1:
            return next(iter(self.by_name.values()))
        found = runner.run(READ_STATE, DATABASE).rows
        database = self.with_id(str(found[0][0])) if found else None
        if database is None:
            raise DatabaseRefused("the transaction is in a database that the escrow does not know", reason="foreign")
        return database
