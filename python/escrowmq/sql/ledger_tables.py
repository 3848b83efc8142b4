"""The tables of the ledger, for SQLite, PostgreSQL and MySQL, and the clock of the database that they are in.

    escrowmq_ledger_sent       what a producer has sent, written with its business change: confirmed or not yet
    escrowmq_consumed          what a group has consumed, written with its own: each message once
    escrowmq_ledger_state      when was reported last, and how long a message takes until it is confirmed

Times are milliseconds since 1970 by the database's clock, so that those of all processes can be compared.
"""

from typing import Any, Final

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, SmallInteger, String, Table, Text
from sqlalchemy.engine import Connection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import ColumnElement

METADATA: Final = MetaData()

SENT: Final = Table(
    "escrowmq_ledger_sent",
    METADATA,
    Column("id", String(64), primary_key=True),
    Column("topic", String(255), nullable=False),
    Column("body", LargeBinary(16 << 20), nullable=False),
    Column("properties", Text, nullable=False),
    Column("consumer_confirm", SmallInteger, nullable=False),
    Column("update_time_ms", BigInteger, nullable=False),
    Column("sends", Integer, nullable=False),
    Index("escrowmq_ledger_sent_open", "consumer_confirm", "update_time_ms"),
)

CONSUMED: Final = Table(
    "escrowmq_consumed",
    METADATA,
    Column("consumer_group", String(120), primary_key=True),
    Column("message_key", String(255), primary_key=True),
    # Where its producer waits to hear of it; empty where nobody does.
    Column("confirm_topic", String(255), nullable=False),
    Column("is_reported", SmallInteger, nullable=False),
    Column("update_time_ms", BigInteger, nullable=False),
    Index("escrowmq_consumed_open", "consumer_group", "is_reported", "update_time_ms"),
)

STATE: Final = Table(
    "escrowmq_ledger_state",
    METADATA,
    Column("name", String(190), primary_key=True),
    Column("value_ms", BigInteger, nullable=False),
)


class now_ms(ColumnElement[int]):  # noqa: N801 - it reads as the function that it is
    """The database's clock, as it is when the statement runs, not when its transaction began."""

    type = BigInteger()
    inherit_cache = True


@compiles(now_ms, "sqlite")
def _sqlite_now(*_: Any, **__: Any) -> str:
    return "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"


@compiles(now_ms, "postgresql")
def _postgresql_now(*_: Any, **__: Any) -> str:
    return "CAST(extract(epoch from clock_timestamp()) * 1000 AS BIGINT)"


@compiles(now_ms, "mysql")
@compiles(now_ms, "mariadb")
def _mysql_now(*_: Any, **__: Any) -> str:
    return "CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED)"


def create_ledger(connection: Connection) -> None:
    """Makes the tables where they are missing."""
    METADATA.create_all(connection)


def read_state(connection: Connection, name: str) -> int | None:
    """A value of the state; None where it was never written."""
    found = connection.execute(STATE.select().where(STATE.c.name == name)).first()
    return None if found is None else int(found.value_ms)


def write_state(connection: Connection, name: str, value_ms: int) -> None:
    """Writes a value of the state. Of two writers at a time one fails, and tries again later."""
    changed = connection.execute(STATE.update().where(STATE.c.name == name).values(value_ms=value_ms))
    if changed.rowcount == 0 and read_state(connection, name) is None:
        connection.execute(STATE.insert().values(name=name, value_ms=value_ms))
