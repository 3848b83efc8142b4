"""The desk of an escrow at real brokers: half messages, decisions, and answers to what brokers ask."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from escrowmq._core import Message
from escrowmq.client import sharing
from escrowmq.client.operation import Operation
from escrowmq.client.producer.options import ProducerOptions
from escrowmq.client.transactions.desk import DeskCore
from escrowmq.client.transactions.values import Decision, Ended, HalfMessage, Prepared
from escrowmq.sql.ports import Held
from escrowmq.sql.values import Verdict

_LOG: Final = logging.getLogger("escrowmq.sql")

TIMEOUT_S: Final = 3.0
_GIVEN_UP: Final = "transaction %s is committed, but its broker had given it up; its message is %s"
# A prepare whose answer is lost may have arrived. To send it again would leave two behind the same row; the barrier
# tries again behind a row of its own, and then elsewhere.
_OPTIONS: Final = ProducerOptions(retries_max=0, avoids_slow_brokers=True)
_DECISIONS: Final = {
    Verdict.COMMITTED: Decision.COMMIT,
    Verdict.ROLLED_BACK: Decision.ROLLBACK,
    Verdict.UNKNOWN: Decision.UNKNOWN,
}


class BrokerDesk:
    """Brokers hear of the group at once, so that a service that starts again is asked what it left undecided.

    Args:
        name_servers: Where name servers are.
        group: The producer group.
        topics: What it sends to, as far as that is known.
        answer: What became of a transaction, by the properties of its half message.
        timeout_s: How long a prepare, and telling the end, may take.
        is_awaiting: Whether it is used by synchronous code that SQLAlchemy lets await.
    """

    def __init__(
        self,
        name_servers: str | Sequence[str],
        group: str,
        topics: Collection[str],
        *,
        answer: Callable[[Mapping[str, str]], Verdict],
        timeout_s: float,
        is_awaiting: bool = False,
    ) -> None:
        def check(half: HalfMessage) -> Decision:
            return _DECISIONS[answer(half.properties)]

        self._client = sharing.acquire(name_servers)
        self._timeout_s = timeout_s
        self._is_awaiting = is_awaiting
        self._is_closed = False
        try:
            self._core = DeskCore(self._client, group, topics=topics, check=check, options=_OPTIONS)
        except BaseException:
            sharing.release(self._client)
            raise

    def prepare(self, messages: Sequence[Message]) -> list[Prepared]:
        """Prepares all of them.

        Raises:
            PrepareFailed: Not all got through; its `prepared` did.
        """
        self._core.used(messages)
        prepared: list[Prepared] = self._run(self._core.deciding.prepare_all(messages, timeout_s=self._timeout_s))
        return prepared

    def settle(self, held: Held, verdict: Verdict) -> bool:
        """Tells brokers; whether all of them know it now."""
        deciding = self._core.deciding
        ends: list[Ended] = self._run(deciding.end_all(list(held), _DECISIONS[verdict], timeout_s=self._timeout_s))
        for prepared, end in zip(held, ends, strict=True):
            if end is Ended.DISCARDED and verdict is Verdict.COMMITTED:
                # The row is committed, so the message may not be lost: it is asked about again.
                is_back = self._run(deciding.resume(prepared, timeout_s=self._timeout_s))
                _LOG.error(_GIVEN_UP, prepared.transaction_id, "asked about again" if is_back else "lost")
            elif end in {Ended.CONTRADICTED, Ended.MISSING, Ended.REFUSED}:
                _LOG.error("%s of transaction %s is %s", verdict.value, prepared.transaction_id, end.value)
        if verdict is Verdict.ROLLED_BACK:
            return all(end in {Ended.SETTLED, Ended.DISCARDED} for end in ends)
        return all(end is Ended.SETTLED for end in ends)

    def close(self) -> None:
        """Ends it: brokers are told, and ask others of the group from now on. Again, it does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if not self._client.is_closed:
                self._client.run(self._core.closing())
        finally:
            sharing.release(self._client)

    async def aclose(self) -> None:
        """The same under asyncio."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if not self._client.is_closed:
                await self._client.run_async(self._core.closing())
        finally:
            sharing.release(self._client)

    def _run(self, operation: Operation[Any]) -> Any:
        if not self._is_awaiting:
            return self._client.run(operation)
        from sqlalchemy.util import await_only  # noqa: PLC0415 - only with SQLAlchemy

        return await_only(self._client.run_async(operation))
