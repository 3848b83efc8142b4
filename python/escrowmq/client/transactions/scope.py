"""A block in which messages wait for what the caller does: they are committed with it, or there are none."""

from collections.abc import Sequence
from typing import Final

from escrowmq._core import Message
from escrowmq.client.operation import Operation
from escrowmq.client.transactions.core import Verdicts
from escrowmq.client.transactions.deciding import Deciding
from escrowmq.client.transactions.values import Decision, Ended, Prepared
from escrowmq.errors import PrepareFailed


class Scope:
    """The messages of one block."""

    def __init__(self, deciding: Deciding, verdicts: Verdicts, messages: Sequence[Message], timeout_s: float) -> None:
        self._deciding: Final = deciding
        self._verdicts: Final = verdicts
        self._messages: Final = messages
        self._timeout_s: Final = timeout_s
        self._prepared: list[Prepared] = []
        self._decision: Decision | None = None
        self._ended: list[Ended] = []

    @property
    def prepared(self) -> Sequence[Prepared]:
        """The half messages."""
        return self._prepared

    @property
    def decision(self) -> Decision | None:
        """What became of them; None while the block runs."""
        return self._decision

    @property
    def ended(self) -> Sequence[Ended]:
        """What brokers said to it. Where one could not be told, it asks, and is told then."""
        return self._ended

    @property
    def is_settled(self) -> bool:
        """Whether all brokers have it on disk."""
        return bool(self._ended) and all(ended is Ended.SETTLED for ended in self._ended)

    def rollback(self) -> None:
        """The block is to end without its messages, though without an exception."""
        self._decision = Decision.ROLLBACK

    def entering(self) -> Operation[None]:
        """Prepares them.

        Raises:
            PrepareFailed: Not all got through; those that did are rolled back.
        """
        try:
            self._prepared = yield from self._deciding.prepare_all(self._messages, timeout_s=self._timeout_s)
        except PrepareFailed as failure:
            got_through = [each for each in failure.prepared if isinstance(each, Prepared)]
            self._decision = Decision.ROLLBACK
            self._ended = yield from self._deciding.end_all(got_through, Decision.ROLLBACK, timeout_s=self._timeout_s)
            raise
        for each in self._prepared:
            self._verdicts.begin(each.transaction_id)

    def leaving(self, error: BaseException | None) -> Operation[None]:
        """Commits, or rolls back after an exception. Does not raise."""
        if error is not None:
            self._decision = Decision.ROLLBACK
        decision = self._decision = self._decision or Decision.COMMIT
        for each in self._prepared:
            self._verdicts.end(each.transaction_id, decision)
        remark = None if error is None else f"the block raised {error!r}"
        self._ended = yield from self._deciding.end_all(
            self._prepared, decision, remark=remark, timeout_s=self._timeout_s
        )
