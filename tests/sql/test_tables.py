"""The barrier's tables: made by the escrow or by a migration of the user's, they are the same."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, MetaData, create_engine

from escrowmq.errors import DatabaseRefused
from escrowmq.sql import tables
from escrowmq.sql.database import Database, create_barrier
from escrowmq.sql.proving import prove
from escrowmq.sql.sources import EngineSource, source_of


def test_alembic_finds_nothing_to_change(engine: Engine) -> None:
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "compare_type": True,
                "include_name": lambda name, kind, _: kind != "table" or str(name).startswith("escrowmq"),
            },
        )
        assert compare_metadata(context, tables.metadata) == []


def test_tables_of_a_migration_are_as_good(url: str) -> None:
    engine = create_engine(url)
    metadata = MetaData()
    tables.add_to(metadata)
    metadata.create_all(engine)
    source = EngineSource(engine)
    database = Database(source)
    prove(database, "order-service")
    assert Database(source).id == database.id
    source.close()
    engine.dispose()


def test_tables_that_are_there_are_left_alone(engine: Engine) -> None:
    source = EngineSource(engine)
    first = Database(source).id
    create_barrier(source)
    assert Database(source).id == first
    source.close()


def test_a_database_without_a_barrier_is_refused(url: str) -> None:
    with pytest.raises(DatabaseRefused) as raised:
        Database(source_of(url))
    assert raised.value.reason == "no-barrier"


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:x?mode=memory&cache=shared&uri=true"]
)
def test_a_database_in_memory_is_refused(url: str) -> None:
    with pytest.raises(DatabaseRefused) as raised:
        Database(source_of(url))
    assert raised.value.reason == "memory"
