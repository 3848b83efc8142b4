"""What the barrier says of a transaction, on each database: never a rollback that is none."""

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, Engine
from tests.sql.conftest import GROUP

from escrowmq.sql.core_runner import CoreRunner
from escrowmq.sql.crossing import probe
from escrowmq.sql.database import Database
from escrowmq.sql.proving import prove
from escrowmq.sql.sources import EngineSource
from escrowmq.sql.sweeping import KEEP_MS, SKEW_MS, sweep
from escrowmq.sql.values import BarrierKey, Verdict, first_id, new_id

ISOLATIONS = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")


@pytest.fixture
def database(engine: Engine) -> Iterator[Database]:
    source = EngineSource(engine)
    yield Database(source)
    source.close()


def insert(connection: Connection, database: Database) -> BarrierKey:
    key = database.new_key(GROUP)
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN")
    database.insert(CoreRunner(connection), key)
    return key


def test_the_proof_of_a_service_that_starts_succeeds(database: Database) -> None:
    prove(database, GROUP)
    assert rows(database) == []


def test_an_open_transaction_is_unknown_and_what_it_becomes_is_found(engine: Engine, database: Database) -> None:
    with engine.connect() as connection:
        committed = insert(connection, database)
        assert probe(database, committed) is Verdict.UNKNOWN
        assert probe(database, committed) is Verdict.UNKNOWN
        connection.commit()
        rolled_back = insert(connection, database)
        assert probe(database, rolled_back) is Verdict.UNKNOWN
        connection.rollback()
    assert [probe(database, committed), probe(database, committed)] == [Verdict.COMMITTED] * 2
    assert [probe(database, rolled_back), probe(database, rolled_back)] == [Verdict.ROLLED_BACK] * 2


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_the_users_isolation_makes_no_difference(engine: Engine, database: Database, isolation: str) -> None:
    if engine.dialect.name == "sqlite":
        pytest.skip("SQLite has one isolation")
    with engine.connect().execution_options(isolation_level=isolation) as connection:
        connection.exec_driver_sql("SELECT * FROM orders")
        key = insert(connection, database)
        assert probe(database, key) is Verdict.UNKNOWN
        connection.commit()
    assert probe(database, key) is Verdict.COMMITTED


def test_a_rollback_that_was_told_can_not_be_committed_any_more(engine: Engine, database: Database) -> None:
    """The rollback is a row: whoever comes late with the same id finds it taken."""
    key = database.new_key(GROUP)
    assert probe(database, key) is Verdict.ROLLED_BACK
    with engine.connect() as connection:
        with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
            database.insert(CoreRunner(connection), key)
        connection.rollback()
    assert probe(database, key) is Verdict.ROLLED_BACK


def test_a_row_that_its_transaction_took_back_is_unknown_and_then_rolled_back(
    engine: Engine, database: Database
) -> None:
    with engine.connect() as connection:
        key = insert(connection, database)
        database.delete(CoreRunner(connection), key)
        assert probe(database, key) is Verdict.UNKNOWN
        connection.commit()
    assert probe(database, key) is Verdict.ROLLED_BACK


def test_a_savepoint_that_was_rolled_back_leaves_no_commit_behind(engine: Engine, database: Database) -> None:
    with engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql("INSERT INTO orders VALUES (1, 10)")
        connection.exec_driver_sql("SAVEPOINT inner_one")
        key = database.new_key(GROUP)
        database.insert(CoreRunner(connection), key)
        connection.exec_driver_sql("ROLLBACK TO SAVEPOINT inner_one")
        assert probe(database, key) in {Verdict.UNKNOWN, Verdict.ROLLED_BACK}
        connection.commit()
    assert probe(database, key) is Verdict.ROLLED_BACK


def test_another_database_than_the_messages_is_unknown(database: Database) -> None:
    key = BarrierKey(database.new_key(GROUP).id, "f" * 32, GROUP)
    assert probe(database, key) is Verdict.UNKNOWN
    assert rows(database) == []


def test_what_was_swept_is_unknown_and_not_rolled_back(engine: Engine, database: Database) -> None:
    with engine.connect() as connection:
        key = insert(connection, database)
        connection.commit()
    late_ms = int(key.id[:12], 16) + KEEP_MS + SKEW_MS + 1
    done = sweep(database, GROUP, oldest_pending_ms=None, at_ms=late_ms)
    assert done.rows == 1
    assert probe(database, key) is Verdict.UNKNOWN
    assert rows(database) == []


def test_a_sweep_takes_nothing_of_other_groups_and_never_goes_back(engine: Engine, database: Database) -> None:
    other = BarrierKey(new_id(1_000), database.id, "another-service")
    with engine.connect() as connection:
        database.insert(CoreRunner(connection), other)
        connection.commit()
    now_ms = 10 * KEEP_MS
    sweep(database, GROUP, oldest_pending_ms=None, at_ms=now_ms)
    sweep(database, GROUP, oldest_pending_ms=None, at_ms=2 * KEEP_MS)
    assert rows(database) == [other.id]
    below = BarrierKey(first_id(now_ms - KEEP_MS - SKEW_MS - 1), database.id, GROUP)
    assert probe(database, below) is Verdict.UNKNOWN


def test_a_sweep_spares_the_oldest_pending_transaction(engine: Engine, database: Database) -> None:
    with engine.connect() as connection:
        key = insert(connection, database)
        connection.commit()
    made_ms = int(key.id[:12], 16)
    done = sweep(database, GROUP, oldest_pending_ms=made_ms + SKEW_MS, at_ms=made_ms + 10 * KEEP_MS)
    assert done.rows == 0
    assert probe(database, key) is Verdict.COMMITTED


def test_a_check_while_a_sweep_is_under_way_does_not_take_swept_for_rolled_back(
    engine: Engine, database: Database
) -> None:
    """The sweep has deleted the row and not committed; then it commits while the check waits, or right after."""
    with engine.connect() as connection:
        key = insert(connection, database)
        connection.commit()
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        connection.exec_driver_sql("DELETE FROM escrowmq_barrier")
        connection.exec_driver_sql(
            "INSERT INTO escrowmq_barrier_state (name, value) VALUES ('swept:order-service', 'ffffffffffff')"
        )
        assert probe(database, key) is Verdict.UNKNOWN
        verdicts: list[Verdict] = []
        checks = threading.Thread(target=lambda: verdicts.append(probe(database, key)))
        checks.start()
        connection.commit()
        checks.join()
    assert verdicts == [Verdict.UNKNOWN]
    assert probe(database, key) is Verdict.UNKNOWN


def rows(database: Database) -> list[str]:
    return database.connected(lambda runner: [row[0] for row in runner.run("SELECT id FROM escrowmq_barrier").rows])
