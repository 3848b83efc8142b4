"""The escrow under asyncio: async sessions and connections, with a real broker."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import Engine, event, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession, create_async_engine
from tests.sql import chaos
from tests.sql.conftest import GROUP

from escrowmq.errors import OutsideTransaction, PrepareFailed
from escrowmq.sql import aio
from escrowmq.sql.values import Deposit, Result
from escrowmq.testing import LocalBroker
from escrowmq.testing.plugin import BrokerFactory

pytestmark = pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def broker(escrowmq_broker_factory: BrokerFactory) -> LocalBroker:
    return escrowmq_broker_factory(settings=chaos.SHORT_CHECKS)


@asynccontextmanager
async def service(broker: LocalBroker, engine: Engine) -> AsyncIterator[tuple[aio.Escrow, AsyncEngine]]:
    """A service on the same database, by a driver that does not block."""
    beside = create_async_engine(engine.url.set(drivername=engine.url.drivername.replace("sqlite", "sqlite+aiosqlite")))
    async with await aio.Escrow.open(broker.name_server, group=GROUP, databases=beside, timeout_s=1.0) as escrow:
        yield escrow, beside
    await beside.dispose()


async def order(escrow: aio.Escrow, session: AsyncSession, number: int) -> Deposit:
    await session.execute(text("INSERT INTO orders (id, amount) VALUES (:id, 10)"), {"id": number})
    return await escrow.send(session, "orders", str(number), key=str(number))


def test_row_and_message_are_committed_together(broker: LocalBroker, engine: Engine) -> None:
    async def serve() -> list[Result]:
        async with service(broker, engine) as (escrow, beside):
            await escrow.verify()
            async with AsyncSession(beside) as session, session.begin():
                committed = await order(escrow, session, 1)
            with pytest.raises(ZeroDivisionError):
                async with AsyncSession(beside) as session, session.begin():
                    rolled_back = await order(escrow, session, 2)
                    raise ZeroDivisionError
            return [committed.result, rolled_back.result]

    assert asyncio.run(serve()) == [Result.COMMITTED, Result.ROLLED_BACK]
    chaos.agree(broker, str(engine.url), [1])


def test_many_tasks_share_an_escrow(broker: LocalBroker, engine: Engine) -> None:
    async def serve() -> list[Result]:
        async with service(broker, engine) as (escrow, beside):

            async def place(number: int) -> Result:
                async with AsyncSession(beside) as session, session.begin():
                    deposit = await order(escrow, session, number)
                return deposit.result

            return list(await asyncio.gather(*map(place, range(20))))

    assert set(asyncio.run(serve())) == {Result.COMMITTED}
    chaos.agree(broker, str(engine.url), range(20))


def test_a_block_of_a_connection_commits_and_sends(broker: LocalBroker, engine: Engine) -> None:
    async def serve() -> Result:
        async with service(broker, engine) as (escrow, beside), beside.connect() as connection:
            async with escrow.transaction(connection) as transaction:
                await connection.execute(text("INSERT INTO orders (id, amount) VALUES (1, 10)"))
                transaction.send("orders", "1")
            with pytest.raises(OutsideTransaction):
                await commit_inside(escrow, connection)
            return transaction.result

    assert asyncio.run(serve()) is Result.COMMITTED
    assert chaos.messages(broker) == {"1": 1}


async def commit_inside(escrow: aio.Escrow, connection: AsyncConnection) -> None:
    async with escrow.transaction(connection) as transaction:
        await connection.execute(text("INSERT INTO orders (id, amount) VALUES (2, 10)"))
        transaction.send("orders", "2")
        await connection.commit()


def test_what_a_broker_asks_is_answered_beside_the_loop(broker: LocalBroker, engine: Engine) -> None:
    """The broker dies before it hears of the commit, and asks when it is back."""

    async def serve() -> Result:
        async with service(broker, engine) as (escrow, beside):
            async with AsyncSession(beside) as session:
                deposit = await order(escrow, session, 1)
                await lose_the_end(broker, session)
            await until(lambda: not chaos.pending(broker))
            return deposit.result

    assert asyncio.run(serve()) is Result.PENDING
    chaos.agree(broker, str(engine.url), [1])


async def lose_the_end(broker: LocalBroker, session: AsyncSession) -> None:

    connection = await session.connection()
    event.listen(connection.sync_connection, "commit", lambda _: broker.kill())
    await session.commit()
    broker.reopen()


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not await asyncio.to_thread(is_so):
            await asyncio.sleep(0.05)


def test_a_broker_that_is_gone_fails_the_commit_and_nothing_is_placed(broker: LocalBroker, engine: Engine) -> None:
    async def serve() -> None:
        async with service(broker, engine) as (escrow, beside):
            async with AsyncSession(beside) as session, session.begin():
                await order(escrow, session, 1)
            broker.kill()
            with pytest.raises(PrepareFailed):
                async with AsyncSession(beside) as session, session.begin():
                    await order(escrow, session, 2)
            broker.reopen()

    asyncio.run(serve())
    chaos.settle(broker, str(engine.url))
    chaos.agree(broker, str(engine.url), [1])
