"""`Escrow` for asyncio: the same names, on SQLAlchemy's async sessions, engines and connections.

SQLAlchemy runs synchronous code that awaits where it talks to a driver. The barrier is such code, so there is one.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.util import greenlet_spawn

from escrowmq.sql.core import Core, draft_of
from escrowmq.sql.escrow import Transaction
from escrowmq.sql.opening import TIMEOUT_S, BrokerDesk
from escrowmq.sql.ports import Desk
from escrowmq.sql.proving import prove
from escrowmq.sql.values import Deposit

__all__ = ["Escrow"]


class Escrow:
    """One for each service; made by `await Escrow.open(…)`. Its arguments are those of `escrowmq.sql.Escrow`."""

    def __init__(self, core: Core, own: BrokerDesk | None) -> None:
        self._core = core
        self._own = own

    @classmethod
    async def open(
        cls,
        name_servers: str | Sequence[str],
        *,
        group: str,
        databases: object,
        topics: Sequence[str] = (),
        timeout_s: float = TIMEOUT_S,
        desk: Desk | None = None,
    ) -> Self:
        """Looks at the databases, and tells brokers of the group.

        Raises:
            DatabaseRefused: A database can't have a barrier, or has none; the reason is one word.
        """
        core = await greenlet_spawn(Core, databases, group)
        own: BrokerDesk | None = None
        if desk is None:
            known = await greenlet_spawn(core.topics, topics)
            desk = own = BrokerDesk(
                name_servers, group, known, answer=core.answer, timeout_s=timeout_s, is_awaiting=True
            )
        core.desk = desk
        return cls(core, own)

    async def send(
        self,
        session: AsyncSession,
        topic: str,
        body: bytes | str,
        *,
        key: str | None = None,
        keys: Sequence[str] = (),
        tags: str | None = None,
        properties: Mapping[str, str] | None = None,
        database: str | None = None,
    ) -> Deposit:
        """Sends a message if the session commits, and only then; as `escrowmq.sql.Escrow.send`.

        Raises:
            DatabaseRefused: The session commits by itself, or has several binds and none is named.
        """
        draft = draft_of(topic, body, key=key, keys=keys, tags=tags, properties=properties)
        return await session.run_sync(lambda beneath: self._core.deposit(beneath, draft, database))

    @asynccontextmanager
    async def transaction(self, connection: AsyncConnection) -> AsyncIterator[Transaction]:
        """A transaction of a connection that the block commits or rolls back; `send` in it does not wait.

        Raises:
            DatabaseRefused: The connection commits each statement by itself, or is in a savepoint.
            OutsideTransaction: `commit()` or `rollback()` was called inside the block.
        """
        block = await connection.run_sync(self._core.block)
        await greenlet_spawn(block.__enter__)
        try:
            yield Transaction(block)
        except BaseException as error:
            await greenlet_spawn(block.__exit__, type(error), error, error.__traceback__)
            raise
        await greenlet_spawn(block.__exit__, None, None, None)

    async def verify(self) -> None:
        """Proves on the real databases that an open transaction is unknown, and the others are what they are.

        Raises:
            DatabaseRefused: One of them can't tell; the reason is `unproved`.
        """
        for database in self._core.databases.by_name.values():
            await greenlet_spawn(prove, database, self._core.group)

    async def close(self) -> None:
        """Ends the connections to brokers. Who asks from now on is answered by another process of the group."""
        if self._own is not None:
            await self._own.aclose()
        self._core.databases.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
