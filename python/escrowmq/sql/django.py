"""`Escrow` for Django: messages of `atomic()`.

Django has no hook before its COMMIT, so row and prepare come with each `send`. What rolls back, an inner `atomic()`
too, takes the row along, and the broker's question finds that out; what commits is told by `on_commit`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from escrowmq.errors import MissingExtra, OutsideTransaction
from escrowmq.sql.core import Core, draft_of
from escrowmq.sql.crossing import Crossing, cross
from escrowmq.sql.opened import OpenedEscrow
from escrowmq.sql.opening import TIMEOUT_S
from escrowmq.sql.ports import Desk
from escrowmq.sql.running import DriverRunner
from escrowmq.sql.values import Deposit

try:
    from django.db import DEFAULT_DB_ALIAS, connections, transaction
except ImportError as error:
    raise MissingExtra("Django is missing: pip install 'escrowmq[django]'", extra="django") from error

# Django takes these for every database, and rewrites them where a driver wants others.
_PARAMSTYLE: Final = "format"


class Escrow(OpenedEscrow):
    """One for each process of the service, made where Django is set up; as `escrowmq.sql.Escrow`.

    Args:
        name_servers: Where name servers are, as `host:port`, several separated by semicolons.
        group: The producer group.
        using: Aliases of the databases that messages may depend on.
        topics: Topics whose brokers should know the service before it has ever sent to them.
        timeout_s: How long a prepare may take, and how long brokers may take to note its end.
        desk: Who talks to brokers; one of its own, unless given.

    Raises:
        DatabaseRefused: A database can't have a barrier, or has none; the reason is one word.
    """

    def __init__(
        self,
        name_servers: str | Sequence[str],
        *,
        group: str,
        using: Sequence[str] = (DEFAULT_DB_ALIAS,),
        topics: Sequence[str] = (),
        timeout_s: float = TIMEOUT_S,
        desk: Desk | None = None,
    ) -> None:
        core = Core({alias: connecting(alias) for alias in using}, group)
        super().__init__(core, name_servers, group, topics=topics, timeout_s=timeout_s, desk=desk)

    def send(
        self,
        topic: str,
        body: bytes | str,
        *,
        key: str | None = None,
        keys: Sequence[str] = (),
        tags: str | None = None,
        properties: Mapping[str, str] | None = None,
        using: str = DEFAULT_DB_ALIAS,
    ) -> Deposit:
        """Sends a message if the `atomic()` around it commits, and only then; as `escrowmq.sql.Escrow.send`.

        Raises:
            OutsideTransaction: There is no `atomic()` around it.
            EscrowError: The message could not be prepared. The block may go on without it, or be left by this.
        """
        connection = connections[using]
        if not connection.in_atomic_block:
            raise OutsideTransaction(f"there is no atomic() on database {using!r}: each statement commits by itself")
        deposit = Deposit(draft_of(topic, body, key=key, keys=keys, tags=tags, properties=properties))
        runner = DriverRunner(connection, _PARAMSTYLE)
        database = self._core.databases.of(runner, using)

        def begun(crossing: Crossing) -> None:
            transaction.on_commit(crossing.committed, using=using)

        cross(lambda: Crossing(database, self._core.desk, self._core.group, [deposit]), runner, begun=begun)
        return deposit


def connecting(alias: str) -> Callable[[], Any]:
    """Connects to the database of an alias, apart from the connections that Django's threads have."""

    def connect() -> Any:
        wrapper = connections.create_connection(alias)
        return wrapper.get_new_connection(wrapper.get_connection_params())

    return connect
