"""Bad days of an escrow with a real broker: replies that are lost, transactions that take long, brokers that die."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
import sqlalchemy
from sqlalchemy import Engine
from sqlalchemy.orm import Session
from tests.databases import RealDatabase
from tests.sql import chaos
from tests.sql.cut_proxy import CutProxy
from tests.sql.service import GROUP, TOPIC

from escrowmq.admin import transactions
from escrowmq.admin.client import Admin
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.sql.crossing import probe
from escrowmq.sql.database import Database
from escrowmq.sql.escrow import Escrow
from escrowmq.sql.sources import source_of
from escrowmq.sql.sweeping import KEEP_MS, SKEW_MS, sweep
from escrowmq.sql.values import BarrierKey, Deposit, Result, Verdict
from escrowmq.testing import LocalBroker
from escrowmq.testing.plugin import BrokerFactory

WEEK_S = 7 * 24 * 3_600
CHECKS = 3


@pytest.fixture
def broker(escrowmq_broker_factory: BrokerFactory) -> LocalBroker:
    broker = escrowmq_broker_factory(settings=chaos.SHORT_CHECKS)
    broker.create_topic(TOPIC)
    return broker


@pytest.fixture
def start(broker: LocalBroker) -> Iterator[Callable[[object], Escrow]]:
    """Starts services, which are stopped after the test."""
    with ExitStack() as services:
        yield lambda databases: services.enter_context(
            Escrow(broker.name_server, group=GROUP, databases=databases, timeout_s=2.0)
        )


def order(escrow: Escrow, session: Session, number: int) -> Deposit:
    session.execute(sqlalchemy.text("INSERT INTO orders (id, amount) VALUES (:id, 10)"), {"id": number})
    return escrow.send(session, TOPIC, str(number), key=str(number))


def await_nothing_pending(broker: LocalBroker) -> None:
    until_s = time.monotonic() + 20
    while chaos.pending(broker):
        assert time.monotonic() < until_s, "transactions stay pending"
        time.sleep(0.02)


def await_checks(broker: LocalBroker, count: int) -> None:
    """Waits until the one transaction that is pending was asked about so often."""
    until_s = time.monotonic() + 20
    with Admin([broker.name_server]) as admin:
        while True:
            (one,) = transactions.list_transactions(admin, {"": broker.address}, count_max=2)
            if one.checks >= count:
                return
            assert time.monotonic() < until_s, one
            time.sleep(0.02)


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_transaction_that_stays_open_for_three_rounds_of_questions_is_decided_by_its_end(
    broker: LocalBroker, engine: Engine, start: Callable[[object], Escrow], *, is_committed: bool
) -> None:
    """The block's connection is held between the prepares and COMMIT, as a database that takes its time would."""
    escrow = start(engine)

    def hold(_connection: object) -> None:
        await_checks(broker, CHECKS)
        if not is_committed:
            raise ConnectionResetError("it fails after all")

    with Session(engine) as session:
        deposit = order(escrow, session, 1)
        sqlalchemy.event.listen(session.connection(), "commit", hold)
        if is_committed:
            session.commit()
        else:
            with pytest.raises(ConnectionResetError):
                session.commit()
            session.rollback()
    # What the broker asks just now may be in the way of whoever looks the rollback up.
    assert deposit.result in ({Result.COMMITTED} if is_committed else {Result.ROLLED_BACK, Result.PENDING})
    await_nothing_pending(broker)
    chaos.agree(broker, str(engine.url), [1])
    assert len(chaos.messages(broker)) == int(is_committed)


def test_a_commit_whose_reply_is_lost_is_found_in_the_barrier(
    broker: LocalBroker, real_postgresql: RealDatabase, start: Callable[[object], Escrow], postgresql_engine: Engine
) -> None:
    with CutProxy(real_postgresql.port) as proxy:
        cut = sqlalchemy.create_engine(f"postgresql+psycopg://escrow@127.0.0.1:{proxy.port}/postgres")
        escrow = start(cut)
        with Session(cut) as session:
            deposit = order(escrow, session, 1)
            session.flush()
            proxy.arm()
            with pytest.raises(sqlalchemy.exc.OperationalError):
                session.commit()
        cut.dispose()
        assert proxy.cuts == 1
        await_nothing_pending(broker)
        assert chaos.messages(broker) == chaos.orders(str(postgresql_engine.url)) == {"1": 1}
        assert deposit.result in {Result.COMMITTED, Result.PENDING}
        escrow.close()


def test_only_messages_of_savepoints_that_stay_are_sent(
    broker: LocalBroker, engine: Engine, start: Callable[[object], Escrow]
) -> None:
    escrow = start(engine)
    with Session(engine) as session, session.begin():
        if engine.dialect.name == "sqlite":
            session.connection().exec_driver_sql("BEGIN")
        order(escrow, session, 1)
        with session.begin_nested():
            order(escrow, session, 2)
        inner = session.begin_nested()
        order(escrow, session, 3)
        inner.rollback()
    chaos.agree(broker, str(engine.url), [1, 2])
    assert chaos.messages(broker) == {"1": 1, "2": 1}


def test_a_prepare_that_times_out_and_arrives_all_the_same_is_rolled_back(
    broker: LocalBroker, engine: Engine, start: Callable[[object], Escrow]
) -> None:
    """The broker has the half message, and nobody was told. The retry is another transaction."""
    escrow = start(engine)
    with Session(engine) as session:
        deposit = order(escrow, session, 1)
        broker.drop_next_answer(RequestCode.SEND_MESSAGE_V2)
        session.commit()
    assert deposit.result is Result.COMMITTED
    await_nothing_pending(broker)
    chaos.agree(broker, str(engine.url), [1])
    assert chaos.messages(broker) == {"1": 1}


def test_a_broker_that_is_killed_meanwhile_asks_when_it_is_back(
    broker: LocalBroker, engine: Engine, start: Callable[[object], Escrow]
) -> None:
    escrow = start(engine)
    with Session(engine) as session:
        deposit = order(escrow, session, 1)
        sqlalchemy.event.listen(session.connection(), "commit", lambda _: broker.kill())
        session.commit()
    assert deposit.result is Result.PENDING
    assert chaos.orders(str(engine.url)) == {"1": 1}
    broker.reopen()
    await_nothing_pending(broker)
    chaos.agree(broker, str(engine.url), [1])


def test_a_sweep_spares_what_a_broker_has_been_asking_about_for_a_week(
    broker: LocalBroker, engine: Engine, start: Callable[[object], Escrow]
) -> None:
    escrow = start(engine)
    with Session(engine) as session:
        order(escrow, session, 1)
        sqlalchemy.event.listen(session.connection(), "commit", lambda _: broker.kill())
        session.commit()
    escrow.close()
    broker.reopen()
    with Admin([broker.name_server]) as admin:
        (one,) = transactions.list_transactions(admin, {"": broker.address}, count_max=2)
    database = Database(source_of(engine))
    week_later_ms = one.prepared_at_ms + WEEK_S * 1_000
    spared = sweep(database, GROUP, oldest_pending_ms=one.prepared_at_ms, at_ms=week_later_ms)
    assert spared.rows == 0
    chaos.settle(broker, str(engine.url))
    chaos.agree(broker, str(engine.url), [1])
    # Now that it is decided, its row may go; and whoever asks all the same is not told that it was rolled back.
    gone = sweep(database, GROUP, oldest_pending_ms=None, at_ms=week_later_ms)
    assert gone.rows == 1
    (message,) = broker.messages(TOPIC)
    key = BarrierKey(message.properties["ESCROWMQ_BARRIER"], database.id, GROUP)
    assert probe(database, key) is Verdict.UNKNOWN
    database.close()
    assert KEEP_MS + SKEW_MS < WEEK_S * 1_000
