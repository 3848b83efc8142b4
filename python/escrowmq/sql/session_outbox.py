"""Messages of a SQLAlchemy session: collected until its transaction commits, then over the barrier.

    send ──▶ collected ──before_commit of the root──▶ flush, row, prepares ──▶ COMMIT ──after_commit──▶ told
                └── its savepoint is rolled back: dropped            └── anything else ──after_transaction_end──▶ asked

A savepoint's commit fires the same hooks, but commits nothing: whatever is sent in it waits for the root. And where the
session has joined a transaction of somebody else, its own commit may be a savepoint's release, or nothing: then the row
is in that transaction, and the broker's question finds out how it ends.
"""

from typing import Any

from sqlalchemy import Connection, RootTransaction, event
from sqlalchemy.orm import Session, SessionTransaction

from escrowmq.errors import DatabaseRefused
from escrowmq.sql.core_runner import CoreRunner, refuse_autocommit
from escrowmq.sql.crossing import Crossing, cross
from escrowmq.sql.database import Database
from escrowmq.sql.databases import Databases
from escrowmq.sql.ports import Desk
from escrowmq.sql.values import Deposit, Draft, Result

# As often as SQLAlchemy itself flushes for hooks that make new objects.
_FLUSHES_MAX = 100


class _Entry:
    """A deposit that is not over the barrier yet, where its row goes, and the savepoints that it was sent in."""

    def __init__(
        self, deposit: Deposit, connection: Connection, database: Database, savepoints: list[SessionTransaction]
    ) -> None:
        self.deposit = deposit
        self.connection = connection
        self.database = database
        self.savepoints = savepoints


class SessionOutbox:
    """One session's messages, for as long as the session lives."""

    def __init__(self, session: Session, databases: Databases, desk: Desk, group: str) -> None:
        self._session = session
        self._databases = databases
        self._desk = desk
        self._group = group
        self._waiting: list[_Entry] = []
        self._crossings: list[tuple[Crossing, RootTransaction | None]] = []
        self._released: set[SessionTransaction] = set()
        event.listen(session, "before_commit", self._before_commit)
        event.listen(session, "after_commit", self._after_commit)
        event.listen(session, "after_transaction_end", self._after_end)

    def send(self, draft: Draft, database_name: str | None) -> Deposit:
        """Collects a message.

        Raises:
            DatabaseRefused: It can't be known which database it belongs to, or that one commits by itself.
        """
        connection = self._connection(database_name)
        self._watch(connection)
        database = self._databases.of(CoreRunner(connection), database_name)
        deposit = Deposit(draft)
        self._waiting.append(_Entry(deposit, connection, database, _savepoints(self._session)))
        return deposit

    def _before_commit(self, session: Session) -> None:
        if session.get_nested_transaction() is not None or not self._waiting:
            return
        # What the database refuses it refuses now, while nothing is prepared.
        for _ in range(_FLUSHES_MAX):
            session.flush()
            if not (session.new or session.dirty or session.deleted):
                break
        for connection in dict.fromkeys(entry.connection for entry in self._waiting):
            self._cross(connection)

    def _cross(self, connection: Connection) -> None:
        """What waits for a connection's transaction goes over the barrier, in one row."""
        entries = [entry for entry in self._waiting if entry.connection is connection]
        if not entries:
            return
        deposits = [entry.deposit for entry in entries]
        transaction = connection.get_transaction()
        cross(
            lambda: Crossing(entries[0].database, self._desk, self._group, deposits),
            CoreRunner(connection),
            begun=lambda crossing: self._crossings.append((crossing, transaction)),
        )
        self._waiting = [entry for entry in self._waiting if entry not in entries]

    def _after_commit(self, session: Session) -> None:
        savepoint = session.get_nested_transaction()
        if savepoint is not None:
            self._released.add(savepoint)
            return
        for crossing, transaction in self._take_crossings():
            if transaction is not None and transaction.is_active:
                # The session was a guest: its commit has released a savepoint, or done nothing.
                crossing.left_pending()
            else:
                crossing.committed()

    def _after_end(self, _session: Session, transaction: SessionTransaction) -> None:
        if transaction.nested:
            if transaction not in self._released:
                self._drop(transaction)
        elif transaction.parent is None:
            self._released.clear()
            for crossing, _ in self._take_crossings():
                crossing.otherwise()
            for entry in self._take_waiting():
                entry.deposit.result = Result.ROLLED_BACK

    def _drop(self, savepoint: SessionTransaction) -> None:
        for entry in self._waiting:
            if savepoint in entry.savepoints:
                entry.deposit.result = Result.ROLLED_BACK
        self._waiting = [entry for entry in self._waiting if savepoint not in entry.savepoints]

    def _take_crossings(self) -> list[tuple[Crossing, RootTransaction | None]]:
        taken, self._crossings = self._crossings, []
        return taken

    def _take_waiting(self) -> list[_Entry]:
        taken, self._waiting = self._waiting, []
        return taken

    def _connection(self, database_name: str | None) -> Connection:
        if database_name is not None:
            return self._session.connection(bind_arguments={"bind": self._databases.engine(database_name)})
        # The session itself chooses by the class that is asked for; nobody asks for one here.
        if getattr(self._session, "_Session__binds", None):
            raise DatabaseRefused("the session has several binds: say `database=`", reason="several-binds")
        return self._session.connection()

    def _watch(self, connection: Connection) -> None:
        """What happens to the connection behind the session's back."""
        refuse_autocommit(connection)
        if not event.contains(connection, "commit", self._at_commit):
            event.listen(connection, "commit", self._at_commit)

    def _at_commit(self, connection: Connection) -> None:
        """Whoever commits the root while a savepoint is open fires the root's hook while that is open.

        And what is sent by a hook that comes after ours has no other chance. This is the last moment before COMMIT.
        """
        self._cross(connection)


def _savepoints(session: Session) -> list[SessionTransaction]:
    found: list[SessionTransaction] = []
    transaction: Any = session.get_nested_transaction()
    while transaction is not None and transaction.nested:
        found.append(transaction)
        transaction = transaction.parent
    return found
