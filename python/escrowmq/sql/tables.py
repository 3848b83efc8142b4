"""The barrier's tables as SQLAlchemy knows them, for Alembic: give it `metadata`, or add them to metadata of yours.

The statements in `statements` make the same tables.
"""

from typing import Final

from sqlalchemy import Column, MetaData, String, Table

metadata: Final = MetaData()


def _text(length: int) -> "String":
    """Compared by its bytes everywhere."""
    from sqlalchemy.dialects.mysql import VARCHAR  # noqa: PLC0415 - of one dialect only

    ascii_text = VARCHAR(length, charset="ascii", collation="ascii_bin")
    return (
        String(length)
        .with_variant(String(length, collation="C"), "postgresql")
        .with_variant(ascii_text, "mysql", "mariadb")
    )


def add_to(metadata: MetaData) -> tuple[Table, Table]:
    """Adds both tables to metadata of the user's."""
    barrier = Table(
        "escrowmq_barrier",
        metadata,
        Column("id", _text(32), primary_key=True),
        Column("database_id", _text(32), nullable=False),
        Column("producer_group", _text(255), nullable=False),
        Column("decision", _text(1), nullable=False),
        mysql_engine="InnoDB",
        mariadb_engine="InnoDB",
    )
    state = Table(
        "escrowmq_barrier_state",
        metadata,
        Column("name", _text(400), primary_key=True),
        Column("value", _text(32), nullable=False),
        mysql_engine="InnoDB",
        mariadb_engine="InnoDB",
    )
    return barrier, state


add_to(metadata)
