"""What every escrow that blocks has, whatever sends through it: a desk from its start on, its proof, and its end."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from escrowmq.sql.core import Core
from escrowmq.sql.opening import BrokerDesk
from escrowmq.sql.ports import Desk
from escrowmq.sql.proving import prove


class OpenedEscrow:
    """Answers what brokers ask from its first moment to its close. Not for users: they have an `Escrow`."""

    def __init__(
        self,
        core: Core,
        name_servers: str | Sequence[str],
        group: str,
        *,
        topics: Sequence[str],
        timeout_s: float,
        desk: Desk | None,
    ) -> None:
        self._core = core
        self._own: BrokerDesk | None = None
        if desk is None:
            desk = self._own = BrokerDesk(
                name_servers, group, core.topics(topics), answer=core.answer, timeout_s=timeout_s
            )
        core.desk = desk

    def verify(self) -> None:
        """Proves on the real databases that an open transaction is unknown, and the others are what they are.

        Raises:
            DatabaseRefused: One of them can't tell; the reason is `unproved`.
        """
        for database in self._core.databases.by_name.values():
            prove(database, self._core.group)

    def close(self) -> None:
        """Ends the connections to brokers. Who asks from now on is answered by another process of the group."""
        if self._own is not None:
            self._own.close()
        self._core.databases.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
