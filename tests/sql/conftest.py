"""Databases for the tests of the escrow: each test sees each kind of them, with a barrier of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy
from tests.databases import RealDatabase, mariadb, postgresql
from tests.unit.sql.fake_desk import FakeDesk

from escrowmq.sql.database import create_barrier
from escrowmq.sql.sources import EngineSource

KINDS = ("sqlite", "postgresql", "mariadb")
GROUP = "order-service"


@pytest.fixture(scope="session")
def real_postgresql() -> Iterator[RealDatabase]:
    with postgresql() as started:
        yield started


@pytest.fixture(scope="session")
def real_mariadb() -> Iterator[RealDatabase]:
    with mariadb() as started:
        yield started


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/orders.db"
    server: RealDatabase = request.getfixturevalue(f"real_{request.param}")
    _empty(server.url)
    return server.url


@pytest.fixture
def make_engine(url: str) -> Iterator[Callable[[], sqlalchemy.Engine]]:
    """Engines of that database, each with connections of its own."""
    made: list[sqlalchemy.Engine] = []

    def make() -> sqlalchemy.Engine:
        made.append(sqlalchemy.create_engine(url))
        return made[-1]

    yield make
    for engine in made:
        engine.dispose()


@pytest.fixture
def engine(make_engine: Callable[[], sqlalchemy.Engine]) -> sqlalchemy.Engine:
    """One that has a barrier, and a table of the user's."""
    return _furnished(make_engine())


@pytest.fixture
def postgresql_engine(real_postgresql: RealDatabase) -> Iterator[sqlalchemy.Engine]:
    """The same, on PostgreSQL only."""
    _empty(real_postgresql.url)
    engine = _furnished(sqlalchemy.create_engine(real_postgresql.url))
    yield engine
    engine.dispose()


@pytest.fixture
def desk() -> FakeDesk:
    return FakeDesk()


def _furnished(engine: sqlalchemy.Engine) -> sqlalchemy.Engine:
    source = EngineSource(engine)
    create_barrier(source)
    source.close()
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL)")
    return engine


def _empty(url: str) -> None:
    engine = sqlalchemy.create_engine(url)
    tables = sqlalchemy.inspect(engine).get_table_names()
    with engine.begin() as connection:
        for table in tables:
            connection.exec_driver_sql(f"DROP TABLE {table}")
    engine.dispose()
