"""A SQLAlchemy session and its messages: what commits with it is sent, in which order, and nothing else."""

import gc
import weakref
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from tests.sql.conftest import GROUP
from tests.unit.sql.fake_desk import FakeDesk

from escrowmq.errors import DatabaseRefused, NotReachable
from escrowmq.sql.core import Core, draft_of
from escrowmq.sql.database import create_barrier
from escrowmq.sql.sources import EngineSource
from escrowmq.sql.values import Deposit, Result, Verdict


class Base(DeclarativeBase):
    """Of the user's classes."""


class Order(Base):
    """An order."""

    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    amount: Mapped[int]


@pytest.fixture
def core(engine: Engine, desk: FakeDesk) -> Iterator[Core]:
    core = Core(engine, GROUP)
    core.desk = desk
    yield core
    core.databases.close()


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    with Session(engine) as session:
        yield session


def order(core: Core, session: Session, number: int, *, amount: int = 10) -> Deposit:
    """Places an order, and sends its message."""
    session.add(Order(id=number, amount=amount))
    draft = draft_of("orders", str(number), key=None, keys=(), tags=None, properties=None)
    return core.deposit(session, draft, None)


def placed(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return [str(row[0]) for row in connection.execute(text("SELECT id FROM orders ORDER BY id"))]


def answers(core: Core, desk: FakeDesk) -> dict[str, Verdict]:
    """What a service that knows nothing else answers about each message that was prepared."""
    return {bytes(message.body).decode(): core.answer(message.properties) for message in desk.prepared}


def test_row_and_message_are_committed_together(core: Core, engine: Engine, session: Session, desk: FakeDesk) -> None:
    deposit = order(core, session, 1)
    assert {deposit.result} == {Result.WAITING}
    session.commit()
    assert deposit.result is Result.COMMITTED
    assert desk.settled == [("1", Verdict.COMMITTED)]
    assert placed(engine) == ["1"]
    assert answers(core, desk) == {"1": Verdict.COMMITTED}


def test_nothing_is_prepared_before_the_commit_and_nothing_after_a_rollback(
    core: Core, session: Session, desk: FakeDesk
) -> None:
    deposit = order(core, session, 1)
    session.flush()
    assert desk.prepared == []
    session.rollback()
    assert desk.prepared == []
    assert deposit.result is Result.ROLLED_BACK
    session.commit()
    assert desk.prepared == []


def test_a_session_that_is_closed_without_a_commit_sends_nothing(core: Core, engine: Engine, desk: FakeDesk) -> None:
    with Session(engine) as session:
        deposit = order(core, session, 1)
    assert deposit.result is Result.ROLLED_BACK
    assert desk.prepared == []


def test_while_prepares_run_the_row_is_there_and_the_answer_unknown(
    core: Core, session: Session, desk: FakeDesk
) -> None:
    seen: list[int] = []
    desk.at_prepare = lambda: seen.append(
        len(session.connection().exec_driver_sql("SELECT id FROM escrowmq_barrier").all())
    )
    order(core, session, 1)
    order(core, session, 2)
    verdicts: dict[str, Verdict] = {}
    event.listen(session.connection(), "commit", lambda _: verdicts.update(answers(core, desk)))
    session.commit()
    assert seen == [1]
    assert verdicts == {"1": Verdict.UNKNOWN, "2": Verdict.UNKNOWN}
    assert len({message.properties["ESCROWMQ_BARRIER"] for message in desk.prepared}) == 1


def test_what_the_database_refuses_is_refused_before_anything_is_prepared(
    core: Core, engine: Engine, session: Session, desk: FakeDesk
) -> None:
    with Session(engine) as other, other.begin():
        other.add(Order(id=1, amount=1))
    deposit = order(core, session, 1)
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        session.commit()
    session.rollback()
    assert desk.prepared == []
    assert deposit.result is Result.ROLLED_BACK


def test_a_prepare_that_fails_keeps_the_row_from_committing_and_a_retry_has_a_new_id(
    core: Core, engine: Engine, session: Session, desk: FakeDesk
) -> None:
    first, second = order(core, session, 1), order(core, session, 2)
    desk.failures, desk.fails_after = 1, 1
    session.commit()
    assert [first.result, second.result] == [Result.COMMITTED] * 2
    assert placed(engine) == ["1", "2"]
    orphan, *retried = desk.prepared
    assert len(retried) == 2
    assert orphan.properties["ESCROWMQ_BARRIER"] != retried[0].properties["ESCROWMQ_BARRIER"]
    assert core.answer(orphan.properties) is Verdict.ROLLED_BACK
    assert [core.answer(message.properties) for message in retried] == [Verdict.COMMITTED] * 2
    assert len(desk.settled) == 3
    assert set(desk.settled) == {("1", Verdict.ROLLED_BACK), ("1", Verdict.COMMITTED), ("2", Verdict.COMMITTED)}


def test_what_got_through_before_a_prepare_failed_is_rolled_back_with_its_transaction(
    core: Core, engine: Engine, session: Session, desk: FakeDesk
) -> None:
    first, second = order(core, session, 1), order(core, session, 2)
    desk.failures, desk.fails_after = 2, 1
    with pytest.raises(NotReachable):
        session.commit()
    session.rollback()
    assert [first.result, second.result] == [Result.ROLLED_BACK] * 2
    assert placed(engine) == []
    assert desk.settled == [("1", Verdict.ROLLED_BACK)] * 2


def test_after_the_commit_nothing_raises(core: Core, engine: Engine, session: Session, desk: FakeDesk) -> None:
    desk.is_reachable = False
    deposit = order(core, session, 1)
    session.commit()
    assert deposit.result is Result.PENDING
    assert placed(engine) == ["1"]
    assert answers(core, desk) == {"1": Verdict.COMMITTED}


def test_a_commit_that_fails_is_looked_up_and_not_guessed(
    core: Core, engine: Engine, session: Session, desk: FakeDesk
) -> None:
    """Once the commit has happened and its reply is lost, once it has not."""

    def commit_and_lose_the_reply(connection: Connection) -> None:
        connection.connection.commit()
        raise ConnectionResetError("the reply is lost")

    deposit = order(core, session, 1)
    event.listen(session.connection(), "commit", commit_and_lose_the_reply, once=True)
    with pytest.raises(ConnectionResetError):
        session.commit()
    session.rollback()
    assert deposit.result is Result.COMMITTED
    assert placed(engine) == ["1"]

    def fail(connection: object) -> None:
        assert connection is not None
        raise ConnectionResetError("the connection is gone")

    deposit = order(core, session, 2)
    event.listen(session.connection(), "commit", fail, once=True)
    with pytest.raises(ConnectionResetError):
        session.commit()
    session.rollback()
    assert deposit.result is Result.ROLLED_BACK
    assert desk.settled == [("1", Verdict.COMMITTED), ("2", Verdict.ROLLED_BACK)]
    assert placed(engine) == ["1"]


def test_messages_of_a_savepoint_that_was_rolled_back_are_dropped(
    core: Core, engine: Engine, session: Session, desk: FakeDesk
) -> None:
    begin_in_words(session)
    kept = order(core, session, 1)
    with session.begin_nested():
        released = order(core, session, 2)
        inner = session.begin_nested()
        dropped = order(core, session, 3)
        inner.rollback()
    outer = session.begin_nested()
    with session.begin_nested():
        dropped_with_outer = order(core, session, 4)
    outer.rollback()
    assert desk.prepared == []
    session.commit()
    assert [kept.result, released.result] == [Result.COMMITTED] * 2
    assert [dropped.result, dropped_with_outer.result] == [Result.ROLLED_BACK] * 2
    assert desk.settled == [("1", Verdict.COMMITTED), ("2", Verdict.COMMITTED)]
    assert placed(engine) == ["1", "2"]


def test_a_root_that_is_committed_while_a_savepoint_is_open_loses_nothing(
    core: Core, engine: Engine, session: Session, desk: FakeDesk
) -> None:
    begin_in_words(session)
    root = session.get_transaction()
    assert root is not None
    session.begin_nested()
    deposit = order(core, session, 1)
    root.commit()
    assert deposit.result is Result.COMMITTED
    assert placed(engine) == ["1"]
    assert answers(core, desk) == {"1": Verdict.COMMITTED}


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_session_that_is_a_guest_leaves_its_messages_to_its_hosts_transaction(
    core: Core, engine: Engine, desk: FakeDesk, *, is_kept: bool
) -> None:
    """As in the tests of a service: each in a transaction that is rolled back in the end."""
    with engine.connect() as connection:
        transaction = connection.begin()
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN")
        with Session(connection, join_transaction_mode="create_savepoint") as session:
            deposit = order(core, session, 1)
            session.commit()
            assert deposit.result is Result.PENDING
            assert answers(core, desk) == {"1": Verdict.UNKNOWN}
        transaction.commit() if is_kept else transaction.rollback()
    assert desk.settled == []
    assert answers(core, desk) == {"1": Verdict.COMMITTED if is_kept else Verdict.ROLLED_BACK}
    assert placed(engine) == (["1"] if is_kept else [])


def test_a_session_is_used_again(core: Core, session: Session, desk: FakeDesk) -> None:
    results = []
    for number in range(1, 4):
        deposit = order(core, session, number)
        session.commit() if number != 2 else session.rollback()
        results.append(deposit.result)
    assert results == [Result.COMMITTED, Result.ROLLED_BACK, Result.COMMITTED]
    assert [body for body, _ in desk.settled] == ["1", "3"]


def test_a_session_that_commits_by_itself_is_refused(core: Core, engine: Engine) -> None:
    with Session(engine.execution_options(isolation_level="AUTOCOMMIT")) as session:
        with pytest.raises(DatabaseRefused) as raised:
            order(core, session, 1)
        assert raised.value.reason == "autocommit"


def test_several_binds_are_refused_unless_one_is_named(engine: Engine, desk: FakeDesk) -> None:
    core = Core({"shop": engine}, GROUP)
    core.desk = desk
    draft = draft_of("orders", "1", key=None, keys=(), tags=None, properties=None)
    with Session(binds={Order: engine}) as session:
        with pytest.raises(DatabaseRefused) as raised:
            core.deposit(session, draft, None)
        assert raised.value.reason == "several-binds"
        session.add(Order(id=1, amount=1))
        deposit = core.deposit(session, draft, "shop")
        session.commit()
    assert deposit.result is Result.COMMITTED
    core.databases.close()


def test_a_transaction_in_a_database_that_the_escrow_does_not_know_is_refused(
    core: Core, desk: FakeDesk, tmp_path: object
) -> None:
    other = create_engine(f"sqlite:///{tmp_path}/other.db")
    source = EngineSource(other)
    create_barrier(source)
    source.close()
    with other.begin() as connection:
        connection.exec_driver_sql("INSERT INTO escrowmq_barrier_state VALUES ('database', 'another')")
        connection.exec_driver_sql("CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL)")
    with Session(other) as session:
        order(core, session, 1)
        with pytest.raises(DatabaseRefused) as raised:
            session.commit()
        assert raised.value.reason == "foreign"
    other.dispose()
    assert desk.prepared == []


def test_a_session_that_sent_messages_goes_when_nobody_has_it_any_more(core: Core, engine: Engine) -> None:
    session = Session(engine)
    order(core, session, 1)
    session.commit()
    session.close()
    seen = weakref.ref(session)
    del session
    gc.collect()
    assert seen() is None


def begin_in_words(session: Session) -> None:
    """Python's SQLite driver begins no transaction for a savepoint."""
    connection = session.connection()
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN")
