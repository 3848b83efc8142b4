"""`escrow.transaction(connection)`: drivers' own connections, and those of SQLAlchemy's Core."""

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pymysql
import pytest
from sqlalchemy import Engine
from tests.sql.conftest import GROUP
from tests.unit.sql.fake_desk import FakeDesk

from escrowmq.errors import DatabaseRefused, NotReachable, OutsideTransaction
from escrowmq.sql.escrow import Escrow
from escrowmq.sql.values import Result, Verdict

INSERT = "INSERT INTO orders (id, amount) VALUES (1, 10)"


@pytest.fixture
def connect(engine: Engine) -> Callable[[], Any]:
    """Connects to the database as its driver does, without SQLAlchemy."""
    place = engine.url
    if engine.dialect.name == "sqlite":
        return lambda: sqlite3.connect(str(place.database), timeout=1)
    if engine.dialect.name == "postgresql":
        told = f"host={place.query['host']} port={place.query['port']} user={place.username} dbname={place.database}"
        return lambda: psycopg.connect(told)
    return lambda: pymysql.connect(
        unix_socket=str(place.query["unix_socket"]), user=place.username, database=place.database
    )


@pytest.fixture
def escrow(connect: Callable[[], Any], desk: FakeDesk) -> Iterator[Escrow]:
    with Escrow("127.0.0.1:1", group=GROUP, databases=connect, desk=desk) as escrow:
        yield escrow


@pytest.fixture(params=["driver", "core"])
def connection(request: pytest.FixtureRequest, engine: Engine, connect: Callable[[], Any]) -> Iterator[Any]:
    """A connection of either kind."""
    opened = connect() if request.param == "driver" else engine.connect()
    yield opened
    opened.close()


def run(connection: Any, statement: str) -> None:
    if hasattr(connection, "exec_driver_sql"):
        connection.exec_driver_sql(statement)
    else:
        connection.cursor().execute(statement)


def count(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.exec_driver_sql("SELECT COUNT(*) FROM orders").scalar() or 0)


def test_row_and_message_are_committed_together(
    escrow: Escrow, engine: Engine, connection: Any, desk: FakeDesk
) -> None:
    for number in (1, 2):
        with escrow.transaction(connection) as transaction:
            run(connection, f"INSERT INTO orders (id, amount) VALUES ({number}, 10)")
            deposit = transaction.send("orders", str(number), key=str(number))
            assert desk.settled == [("1", Verdict.COMMITTED)][: number - 1]
        assert (transaction.result, deposit.result) == (Result.COMMITTED, Result.COMMITTED)
    assert count(engine) == 2
    assert desk.settled == [("1", Verdict.COMMITTED), ("2", Verdict.COMMITTED)]


def test_what_the_block_raises_rolls_back_and_sends_nothing(
    escrow: Escrow, engine: Engine, connection: Any, desk: FakeDesk
) -> None:
    with pytest.raises(ZeroDivisionError), escrow.transaction(connection) as transaction:
        run(connection, INSERT)
        transaction.send("orders", "1")
        raise ZeroDivisionError
    assert transaction.result is Result.ROLLED_BACK
    assert (count(engine), desk.prepared) == (0, [])


def test_a_prepare_that_fails_rolls_back(escrow: Escrow, engine: Engine, connection: Any, desk: FakeDesk) -> None:
    desk.failures = 2
    with pytest.raises(NotReachable), escrow.transaction(connection) as transaction:
        run(connection, INSERT)
        transaction.send("orders", "1")
    assert transaction.result is Result.ROLLED_BACK
    assert count(engine) == 0


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_commit_and_rollback_are_refused_inside(escrow: Escrow, connection: Any, desk: FakeDesk, end: str) -> None:
    with pytest.raises(OutsideTransaction), escrow.transaction(connection) as transaction:
        run(connection, INSERT)
        transaction.send("orders", "1")
        getattr(connection, end)()
    assert desk.prepared == []
    with pytest.raises(OutsideTransaction):
        transaction.send("orders", "2")


def test_a_connection_that_commits_by_itself_is_refused(
    escrow: Escrow, engine: Engine, connect: Callable[[], Any]
) -> None:
    connection = connect()
    if engine.dialect.name == "sqlite":
        connection.isolation_level = None
    elif engine.dialect.name == "postgresql":
        connection.autocommit = True
    else:
        connection.autocommit(True)  # noqa: FBT003 - the driver's own
    with pytest.raises(DatabaseRefused) as raised, escrow.transaction(connection):
        pass
    assert raised.value.reason == "autocommit"
    connection.close()
    with (
        engine.connect().execution_options(isolation_level="AUTOCOMMIT") as core,
        pytest.raises(DatabaseRefused) as raised,
        escrow.transaction(core),
    ):
        pass
    assert raised.value.reason == "autocommit"


def test_a_connection_in_a_savepoint_is_refused(escrow: Escrow, engine: Engine) -> None:
    with (
        engine.connect() as connection,
        connection.begin(),
        connection.begin_nested(),
        pytest.raises(DatabaseRefused) as raised,
        escrow.transaction(connection),
    ):
        pass
    assert raised.value.reason == "nested"


def test_the_proof_succeeds_with_a_function_that_connects(escrow: Escrow) -> None:
    escrow.verify()


def test_what_is_no_database_is_refused() -> None:
    with pytest.raises(DatabaseRefused) as raised:
        Escrow("127.0.0.1:1", group=GROUP, databases=object(), desk=FakeDesk())
    assert raised.value.reason == "kind"
