"""The ledger at work, inside a service or as a process of its own: looks every few seconds, and hears confirmations."""

import logging
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

from sqlalchemy.exc import SQLAlchemyError

from escrowmq.client.consumer.options import PushOptions
from escrowmq.client.consumer.push_consumer import PushConsumer
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.errors import BadBody, EscrowError
from escrowmq.sql.ledger_consumed import ConsumedLedger, decode_report
from escrowmq.sql.ledger_sender import LedgerSender
from escrowmq.sql.ledger_sent import SentLedger

_LOG: Final = logging.getLogger("escrowmq.ledger")
_CLOSE_MAX_S: Final = 10.0


class LedgerService:
    """Work that is done again and again on a thread. Use it as a context manager, or `start` and `close` it."""

    def __init__(self, work: Callable[[], int], *, interval_s: float) -> None:
        self._work = work
        self._interval_s = interval_s
        self._is_closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="escrowmq-ledger", daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def close(self) -> None:
        """Ends it, when what it does is done."""
        self._is_closing.set()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_MAX_S)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> None:
        while True:
            try:
                self._work()
            except (EscrowError, SQLAlchemyError) as error:
                # The ledger is there for what goes wrong: it is looked at again.
                _LOG.warning("the ledger's work is tried again in %s s: %s", self._interval_s, error)
            if self._is_closing.wait(self._interval_s):
                return


class SentLedgerService:
    """A producer's side: takes confirmations in, and sends again what has none. Use it as a context manager."""

    def __init__(self, ledger: SentLedger, name_servers: str | Sequence[str], group: str, *, interval_s: float) -> None:
        self._sender = LedgerSender(name_servers, group)
        self._consumer = PushConsumer(
            name_servers,
            group,
            on_message=lambda message: take_report(ledger, message),
            # What was confirmed while no producer was there counts too.
            options=PushOptions(start="earliest", handlers_max=1),
        )
        self._consumer.subscribe(ledger.confirm_topic)
        self._service = LedgerService(lambda: ledger.send_overdue(self._sender), interval_s=interval_s)

    def __enter__(self) -> Self:
        self._consumer.start()
        self._service.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._service.close()
        self._consumer.close()
        self._sender.close()


class ConsumedLedgerService:
    """A consumer's side: reports what it has consumed. Use it as a context manager."""

    def __init__(
        self, ledger: ConsumedLedger, name_servers: str | Sequence[str], group: str, *, interval_s: float
    ) -> None:
        self._sender = LedgerSender(name_servers, group)
        self._service = LedgerService(lambda: ledger.report(self._sender), interval_s=interval_s)

    def __enter__(self) -> Self:
        self._service.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._service.close()
        self._sender.close()


def take_report(ledger: SentLedger, message: ReceivedMessage) -> None:
    """Marks what a report says. One that is nonsense is passed over: it would be the next time too."""
    try:
        keys = decode_report(message.body)
    except BadBody as error:
        _LOG.warning("a report is passed over: %s", error)
        return
    ledger.confirm(keys)
