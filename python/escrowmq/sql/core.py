"""What an escrow of either kind, blocking or not, is made of: its databases, its desk, and the sessions that send."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from escrowmq.sql.answering import answer
from escrowmq.sql.block import TransactionBlock
from escrowmq.sql.databases import Databases
from escrowmq.sql.grounds import ground_of
from escrowmq.sql.ports import Desk
from escrowmq.sql.values import Deposit, Draft, Verdict

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


class Core:
    """The desk is set by whoever opens it, since the desk has to know whom to ask."""

    desk: Desk

    def __init__(self, databases: object, group: str) -> None:
        self.databases = Databases(databases)
        self.group = group

    def topics(self, more: Sequence[str]) -> set[str]:
        """Where the group sends to: as its databases remember, and as is said."""
        found = (database.topics(self.group) for database in self.databases.by_name.values())
        return set(more).union(*found)

    def answer(self, properties: Mapping[str, str]) -> Verdict:
        """What became of the transaction of a half message."""
        return answer(self.databases, self.group, properties)

    def deposit(self, session: "Session", draft: Draft, database_name: str | None) -> Deposit:
        """Collects a message of a session."""
        from escrowmq.sql.session_outbox import SessionOutbox  # noqa: PLC0415 - only with SQLAlchemy

        # What refers to the session is kept by the session, and goes with it.
        outbox: SessionOutbox | None = session.info.get(self)
        if outbox is None:
            outbox = session.info[self] = SessionOutbox(session, self.databases, self.desk, self.group)
        return outbox.send(draft, database_name)

    def block(self, connection: Any) -> TransactionBlock:
        """A transaction of a connection."""
        return TransactionBlock(ground_of(connection), self.databases, self.desk, self.group)


def draft_of(
    topic: str,
    body: bytes | str,
    *,
    key: str | None,
    keys: Sequence[str],
    tags: str | None,
    properties: Mapping[str, str] | None,
) -> Draft:
    """A message as the user gives it."""
    all_keys = (*(() if key is None else (key,)), *keys)
    return Draft(topic, body.encode() if isinstance(body, str) else bytes(body), tags, all_keys, dict(properties or {}))
