"""The ledger, between a producer's database and a consumer's: whatever gets lost, in the end both agree."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import pytest
from sqlalchemy import Engine, create_engine, select, text
from sqlalchemy.orm import Session, sessionmaker
from tests.databases import postgresql
from tests.unit.client.consumer.records import QUEUE, records

from escrowmq import Message, Record
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.client.consumer.retry_rules import Consumed
from escrowmq.errors import BadBody, NoAnswer
from escrowmq.sql.idempotent import idempotent
from escrowmq.sql.ledger_consumed import ConsumedLedger, decode_report, encode_report
from escrowmq.sql.ledger_sent import SentLedger
from escrowmq.sql.ledger_tables import create_ledger, now_ms
from escrowmq.sql.ledger_values import LedgerOptions

Handle: TypeAlias = Callable[[ReceivedMessage], Consumed | None]

GROUP = "billing"
AT_ONCE = LedgerOptions(circle_min_s=0.0, circle_factor=0.0, batch_max=3)
PATIENT = LedgerOptions(circle_min_s=60.0)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgresql() as database:
        yield database.url


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    if request.param == "sqlite":
        engine = create_engine(f"sqlite:///{tmp_path / 'ledger.db'}")
    else:
        engine = create_engine(request.getfixturevalue("server"))
    with engine.begin() as connection:
        create_ledger(connection)
        connection.execute(text("CREATE TABLE invoices (body TEXT NOT NULL)"))
    yield engine
    with engine.begin() as connection:
        for table in ("invoices", "escrowmq_ledger_sent", "escrowmq_consumed", "escrowmq_ledger_state"):
            connection.execute(text(f"DROP TABLE {table}"))
    engine.dispose()


class Wire:
    """A proxy between both sides: keeps what is sent, and loses, doubles or delays some of it."""

    def __init__(self, seed: int = 0, *, is_lossy: bool = False) -> None:
        self.arrived: list[Message] = []
        self.sends = 0
        self.is_lossy = is_lossy
        self._delayed: list[Message] = []
        self._random = random.Random(seed)

    def send(self, message: Message, /) -> None:
        self.sends += 1
        fate = (
            self._random.choice(["lost", "unacknowledged", "doubled", "delayed", "well"]) if self.is_lossy else "well"
        )
        if fate == "delayed":
            self._delayed.append(message)
        elif fate != "lost":
            self.arrived += [message] * (2 if fate == "doubled" else 1)
        if fate == "unacknowledged":
            raise NoAnswer("the proxy swallowed the answer", address="proxy")

    def take(self) -> list[Message]:
        """What has arrived; what was delayed arrives the next time."""
        arrived, self.arrived, self._delayed = self.arrived, self._delayed, []
        return arrived


_RECORDS: dict[str, Record] = {}


def received(message: Message) -> ReceivedMessage:
    """The message as a consumer gets it; made once for each, since it takes a store to make it."""
    key = repr((message.body, message.properties))
    if key not in _RECORDS:
        (_RECORDS[key],) = records([message])
    return ReceivedMessage(_RECORDS[key], QUEUE)


def sell(engine: Engine, ledger: SentLedger, body: bytes) -> Message:
    with Session(engine) as session, session.begin():
        return ledger.record(session, "orders", body)


def invoices(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return sorted(connection.execute(text("SELECT body FROM invoices")).scalars())


def billing(engine: Engine, *, fails: bool = False) -> Handle:
    @idempotent(sessionmaker(engine), group=GROUP)
    def bill(session: Session, message: ReceivedMessage) -> None:
        session.execute(text("INSERT INTO invoices VALUES (:body)"), {"body": message.body.decode()})
        if fails:
            raise ValueError("the handler's own")

    return bill


def test_a_message_that_comes_twice_is_handled_once(engine: Engine) -> None:
    handle = billing(engine)
    message = received(Message("orders", b"1", properties={"UNIQ_KEY": "A1"}))
    handle(message)
    handle(message)
    assert invoices(engine) == ["1"]


def test_a_handler_that_fails_leaves_no_row_and_gets_the_message_again(engine: Engine) -> None:
    message = received(Message("orders", b"1", properties={"UNIQ_KEY": "A1"}))
    with pytest.raises(ValueError, match="own"):
        billing(engine, fails=True)(message)
    assert invoices(engine) == []
    billing(engine)(message)
    assert invoices(engine) == ["1"]


def test_what_is_acknowledged_is_not_reported_again_and_the_first_report_is_of_everything(engine: Engine) -> None:
    sent, consumed, wire = SentLedger(engine, "confirmed"), ConsumedLedger(engine, GROUP, options=AT_ONCE), Wire()
    handle = billing(engine)
    messages = [received(sell(engine, sent, b"%d" % number)) for number in range(7)]
    for message in messages:
        handle(message)
    assert consumed.status().last_check_ms is None
    assert consumed.report(wire) == 7
    assert consumed.report(wire) == 0
    keys = [key for report in wire.take() for key in decode_report(report.body)]
    assert sent.confirm(keys) == 7
    assert sent.confirm(keys) == 0
    # One that comes again is confirmed again: its producer has not heard of it.
    handle(messages[0])
    assert consumed.report(wire) == 1
    status = sent.status()
    assert (status.confirmed, status.unconfirmed, status.sent_again) == (7, 0, 0)
    assert status.average_circle_ms is not None


def test_a_row_that_is_committed_after_a_later_one_was_reported_is_not_missed(tmp_path: Path) -> None:
    # SQLite has one writer at a time, so the late row gets the time at which a long transaction would have written it.
    engine = create_engine(f"sqlite:///{tmp_path / 'late.db'}")
    with engine.begin() as connection:
        create_ledger(connection)
    consumed, wire = ConsumedLedger(engine, GROUP), Wire()
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO escrowmq_consumed VALUES ('billing', 'first', 'c', 0, 0)"))
    assert consumed.report(wire) == 1
    with engine.begin() as connection:
        early_ms = connection.execute(select(now_ms())).scalar_one() - 800_000
        connection.execute(
            text("INSERT INTO escrowmq_consumed VALUES ('billing', 'late', 'c', 0, :ms)"), {"ms": early_ms}
        )
    assert consumed.report(wire) == 1
    assert decode_report(wire.take()[-1].body) == ["late"]
    engine.dispose()


def test_a_transaction_that_is_open_while_a_report_is_made_is_in_the_next_one(server: str) -> None:
    engine = create_engine(server)
    try:
        with engine.begin() as connection:
            create_ledger(connection)
            connection.execute(text("DELETE FROM escrowmq_consumed"))
        consumed, wire = ConsumedLedger(engine, GROUP), Wire()
        insert = text("INSERT INTO escrowmq_consumed VALUES ('billing', :key, 'c', 0, :ms)")
        with engine.connect() as late:
            early_ms = late.execute(select(now_ms())).scalar_one()
            late.execute(insert, {"key": "late", "ms": early_ms})
            with engine.begin() as connection:
                connection.execute(insert, {"key": "first", "ms": early_ms + 1})
            assert consumed.report(wire) == 1
            late.commit()
        assert consumed.report(wire) == 1
        assert [decode_report(report.body) for report in wire.take()] == [["first"], ["late"]]
    finally:
        engine.dispose()


def test_what_may_still_be_on_its_way_is_not_sent_again(engine: Engine) -> None:
    sent, wire = SentLedger(engine, "confirmed", options=PATIENT), Wire()
    sell(engine, sent, b"1")
    assert sent.send_overdue(wire) == 0


def test_of_several_that_look_at_the_ledger_one_sends(engine: Engine) -> None:
    options = LedgerOptions(circle_min_s=0.05, circle_factor=0)
    first, second = (SentLedger(engine, "confirmed", options=options) for _ in range(2))
    for body in (b"1", b"2", b"3"):
        sell(engine, first, body)
    others = Wire()

    class Meanwhile(Wire):
        def send(self, message: Message, /) -> None:
            super().send(message)
            second.send_overdue(others)

    time.sleep(0.06)
    wire = Meanwhile()
    assert first.send_overdue(wire) == 1
    assert (wire.sends, others.sends) == (1, 2)


@pytest.mark.parametrize("seed", range(5))
def test_whatever_is_lost_doubled_or_delayed_every_message_is_confirmed_and_handled_once(
    engine: Engine, seed: int
) -> None:
    orders, reports = Wire(seed, is_lossy=True), Wire(seed + 100, is_lossy=True)
    count, restarts = 12, 0
    sent, consumed, handle = _both_sides(engine)
    for number in range(count):
        with suppress(NoAnswer):
            orders.send(sell(engine, sent, b"%02d" % number))
    for round_number in range(200):
        for message in orders.take():
            handle(received(message))
        with suppress(NoAnswer):
            consumed.report(reports)
        for report in reports.take():
            sent.confirm(decode_report(report.body))
        if sent.status().unconfirmed == 0:
            break
        with suppress(NoAnswer):
            sent.send_overdue(orders)
        if round_number % 3 == 0:
            restarts += 1
            sent, consumed, handle = _both_sides(engine)
    status = sent.status()
    assert (status.confirmed, status.unconfirmed) == (count, 0), f"seed {seed}"
    assert invoices(engine) == [f"{number:02d}" for number in range(count)], f"seed {seed}"
    assert status.sent_again == orders.sends - count > 0, f"seed {seed}"
    assert restarts > 0


def test_a_report_that_is_nonsense_is_an_error() -> None:
    assert decode_report(encode_report(["a"])) == ["a"]
    with pytest.raises(BadBody):
        decode_report(b'{"a": 1}')


def _both_sides(engine: Engine) -> tuple[SentLedger, ConsumedLedger, Handle]:
    """As a process has them that has just started."""
    options = LedgerOptions(circle_min_s=0.0, circle_factor=0.0, batch_max=100)
    return SentLedger(engine, "confirmed", options=options), ConsumedLedger(engine, GROUP), billing(engine)
