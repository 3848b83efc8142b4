"""What the escrow needs from others, as protocols: drivers of databases, and somebody who talks to brokers."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from escrowmq._core import Message
from escrowmq.sql.values import Verdict

Row: TypeAlias = tuple[Any, ...]


class Cursor(Protocol):
    """Of PEP 249, what is used here."""

    rowcount: Any
    description: Any

    def execute(self, statement: str, parameters: Sequence[str], /) -> object:
        """Runs a statement."""

    def fetchall(self) -> Sequence[Any]:
        """The rows that it gave."""

    def close(self) -> None:
        """Ends it."""


class Connection(Protocol):
    """Of PEP 249, what is used here."""

    def cursor(self) -> Any:
        """A `Cursor`."""

    def commit(self) -> Any:
        """Commits the open transaction."""

    def rollback(self) -> Any:
        """Rolls it back."""

    def close(self) -> Any:
        """Ends the connection."""


class Ran(Struct, frozen=True):
    """What came of a statement: its rows, and how many it changed."""

    rows: list[Row]
    count: int


class Runner(Protocol):
    """Runs statements of ours, whose placeholders are question marks, in one transaction of a connection."""

    def run(self, statement: str, *parameters: str) -> Ran:
        """Runs one."""


class Source(Protocol):
    """Where connections come from that are the escrow's own."""

    dialect_name: str
    paramstyle: str

    def connect(self) -> AbstractContextManager[Connection]:
        """A connection to the primary, outside of anybody's transaction; closed or given back at the end."""

    def close(self) -> None:
        """Closes connections that wait to be used again."""


Held: TypeAlias = Sequence[Any]
"""Half messages, as whoever prepared them knows them."""


class Desk(Protocol):
    """Where half messages are handed in, and decided."""

    def prepare(self, messages: Sequence[Message]) -> Held:
        """Prepares all of them, or raises; an error's `prepared` are those that got through."""

    def settle(self, held: Held, verdict: Verdict) -> bool:
        """Tells brokers; whether all of them know it now. Never raises."""
