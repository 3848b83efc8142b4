"""`Escrow`: a database change and a message, both or neither."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from escrowmq.sql.block import TransactionBlock
from escrowmq.sql.core import Core, draft_of
from escrowmq.sql.opened import OpenedEscrow
from escrowmq.sql.opening import TIMEOUT_S
from escrowmq.sql.ports import Desk
from escrowmq.sql.values import Deposit, Result

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


class Escrow(OpenedEscrow):
    """One for each service, for as long as it runs: from the first moment on it answers what brokers ask.

    Args:
        name_servers: Where name servers are, as `host:port`, several separated by semicolons.
        group: The producer group. All processes of a service have the same, so that each can answer for the others.
        databases: An engine, its URL or a function that connects; or a dictionary of them, by names of yours.
        topics: Topics whose brokers should know the service before it has ever sent to them.
        timeout_s: How long a prepare may take, and how long brokers may take to note its end.
        desk: Who talks to brokers; one of its own, unless given.

    Raises:
        DatabaseRefused: A database can't have a barrier, or has none; the reason is one word.
    """

    def __init__(
        self,
        name_servers: str | Sequence[str],
        *,
        group: str,
        databases: object,
        topics: Sequence[str] = (),
        timeout_s: float = TIMEOUT_S,
        desk: Desk | None = None,
    ) -> None:
        core = Core(databases, group)
        super().__init__(core, name_servers, group, topics=topics, timeout_s=timeout_s, desk=desk)

    def send(
        self,
        session: "Session",
        topic: str,
        body: bytes | str,
        *,
        key: str | None = None,
        keys: Sequence[str] = (),
        tags: str | None = None,
        properties: Mapping[str, str] | None = None,
        database: str | None = None,
    ) -> Deposit:
        """Sends a message if the session commits, and only then; the deposit tells in the end what became of it.

        Args:
            session: A session of SQLAlchemy.
            topic: Where the message goes.
            body: What it says; text is encoded as UTF-8.
            key: What it can be found by.
            keys: More of them.
            tags: What subscriptions filter by.
            properties: Further names and values.
            database: The name of the database, for a session with several binds.

        Raises:
            DatabaseRefused: The session commits by itself, or has several binds and none is named.
        """
        draft = draft_of(topic, body, key=key, keys=keys, tags=tags, properties=properties)
        return self._core.deposit(session, draft, database)

    @contextmanager
    def transaction(self, connection: Any) -> "Iterator[Transaction]":
        """A transaction of a connection, of a driver or of SQLAlchemy's Core, that the block commits or rolls back.

        Raises:
            DatabaseRefused: The connection commits each statement by itself, or is in a savepoint.
            OutsideTransaction: `commit()` or `rollback()` was called inside the block.
        """
        with self._core.block(connection) as block:
            yield Transaction(block)


class Transaction:
    """What a block of `Escrow.transaction` is about."""

    def __init__(self, block: TransactionBlock) -> None:
        self._block = block

    @property
    def result(self) -> Result:
        """What became of it."""
        return self._block.result

    def send(
        self,
        topic: str,
        body: bytes | str,
        *,
        key: str | None = None,
        keys: Sequence[str] = (),
        tags: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Deposit:
        """Sends a message if the block commits, and only then; as `Escrow.send`.

        Raises:
            OutsideTransaction: The block has ended.
        """
        return self._block.deposit(draft_of(topic, body, key=key, keys=keys, tags=tags, properties=properties))
