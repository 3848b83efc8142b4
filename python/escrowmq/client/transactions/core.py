"""What a transaction producer and its twin under asyncio have in common: what to say of which transaction."""

import threading
from collections import OrderedDict
from typing import Final, Protocol

from escrowmq._core import Message
from escrowmq.client.transactions.values import Decision, HalfMessage
from escrowmq.errors import NoListener

REMEMBERED_MAX: Final = 10_000
"""How many decisions are remembered, for brokers that ask since they did not hear of them."""


class TransactionListener(Protocol):
    """What a service knows of its local transactions."""

    def execute(self, message: Message, argument: object) -> Decision | None:
        """Runs the local transaction, when the broker has the half message. None and an error mean UNKNOWN."""

    def check(self, half: HalfMessage) -> Decision | None:
        """Says what became of a local transaction; on a thread of the client's. None and an error mean UNKNOWN."""


class Verdicts:
    """What this process has said of its transactions. Any thread may ask and tell."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[str] = set()
        self._said: OrderedDict[str, Decision] = OrderedDict()

    def begin(self, transaction_id: str) -> None:
        """It is open: whoever asks now learns that nobody knows."""
        with self._lock:
            self._open.add(transaction_id)

    def end(self, transaction_id: str, decision: Decision) -> None:
        """It is decided, or nobody knows."""
        with self._lock:
            self._open.discard(transaction_id)
            if decision is Decision.UNKNOWN:
                return
            self._said[transaction_id] = decision
            if len(self._said) > REMEMBERED_MAX:
                self._said.popitem(last=False)

    def find(self, transaction_id: str) -> Decision | None:
        """What was said; UNKNOWN while it is open, None of one that this process does not remember."""
        with self._lock:
            return Decision.UNKNOWN if transaction_id in self._open else self._said.get(transaction_id)


def checked(listener: TransactionListener | None, verdicts: Verdicts, half: HalfMessage) -> Decision | None:
    """The answer to a broker: what this process said, else what the listener says."""
    said = verdicts.find(half.transaction_id)
    if said is not None:
        return said
    return None if listener is None else listener.check(half)


def no_listener(group: str) -> NoListener:
    """Why a message is not sent in a transaction."""
    return NoListener(f"producer group {group!r} has no transaction listener to ask what becomes of its messages")
