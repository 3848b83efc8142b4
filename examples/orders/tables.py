"""The database of the order service, and that of billing, which knows orders from messages only."""

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class OrderTables(DeclarativeBase):
    """What the order service keeps."""


class BillingTables(DeclarativeBase):
    """What billing keeps."""


class Order(OrderTables):
    """An order, with the number that its customer's shop gave it."""

    __tablename__ = "orders"
    number: Mapped[int] = mapped_column(primary_key=True)
    amount: Mapped[int]


class Invoice(BillingTables):
    """An invoice. Its order's number is its key, so a message that comes twice makes no second one."""

    __tablename__ = "invoices"
    order_number: Mapped[int] = mapped_column(primary_key=True)
    amount: Mapped[int]


def open_database(url: str, tables: type[DeclarativeBase]) -> Engine:
    """Opens a database, and makes the tables that are missing."""
    engine = create_engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", lambda driver, _: driver.execute("PRAGMA journal_mode = WAL"))
    tables.metadata.create_all(engine)
    return engine
