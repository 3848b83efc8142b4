"""A message in a transaction as an operation: half message, local transaction, decision."""

import logging
from collections.abc import Callable
from typing import Final

from escrowmq._core import Message
from escrowmq.client.operation import Operation
from escrowmq.client.producer.results import SendResult, SendStatus
from escrowmq.client.transactions.core import Verdicts
from escrowmq.client.transactions.deciding import Deciding, Half
from escrowmq.client.transactions.values import Decision, Prepared, TransactionResult

_LOG: Final = logging.getLogger("escrowmq.client")


class Local:
    """What the local transaction came to."""

    def __init__(self, decision: Decision | None, error: Exception | None = None) -> None:
        self.decision: Final = decision or Decision.UNKNOWN
        self.error: Final = error
        # Compat: Java's words, by which operators find it in the broker's log.
        self.remark: Final = None if error is None else f"executeLocalTransactionBranch exception: {error!r}"


def conclude(
    deciding: Deciding, verdicts: Verdicts, sent: SendResult, prepared: Prepared, local: Local, *, timeout_s: float
) -> Operation[TransactionResult]:
    """Tells the broker what the local transaction came to. Does not raise: what is decided is decided."""
    decision = local.decision
    verdicts.end(prepared.transaction_id, decision)
    if local.error is not None:
        _LOG.error("the local transaction of %s has failed", prepared.transaction_id, exc_info=local.error)
    ended = yield from deciding.end(Half.of(prepared), decision, remark=local.remark, timeout_s=timeout_s)
    return TransactionResult(sent, decision, ended, local.error)


def is_safe(sent: SendResult) -> bool:
    """Whether the local transaction may run: a half message that is less than safe is rolled back."""
    return sent.status is SendStatus.SEND_OK


def run_local(execute: Callable[[Message, object], Decision | None], message: Message, argument: object) -> Local:
    """Runs a local transaction on this thread."""
    try:
        return Local(execute(message, argument))
    except Exception as error:  # noqa: BLE001 - it is in the result, and the broker asks
        return Local(None, error)
