"""Answers to brokers that ask about half messages: on the workers, to the broker that asked, one at a time for each."""

import logging
import threading
from collections.abc import Callable
from typing import Final

from escrowmq._core import Request, decode_records
from escrowmq.client.connection import Client
from escrowmq.client.operation import Operation, Outcome
from escrowmq.client.steps import offload
from escrowmq.client.transactions.deciding import Deciding, Half
from escrowmq.client.transactions.values import Decision, Ended, HalfMessage, half_message
from escrowmq.errors import ProtocolError
from escrowmq.protocol.headers.check_transaction import CheckTransaction
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.request_codes import RequestCode

_LOG: Final = logging.getLogger("escrowmq.client")

OPEN_MAX: Final = 2_000
"""Most questions that wait or are worked on; brokers ask again about the others."""


class Checking:
    """Asks a user's function what the broker asks, from `begin` to `end`."""

    def __init__(
        self, client: Client, group: str, deciding: Deciding, check: Callable[[HalfMessage], Decision | None]
    ) -> None:
        self._client: Final = client
        self._deciding: Final = deciding
        self._check: Final = check
        self._lock = threading.Lock()
        self._open: set[str] = set()
        self.end: Final = client.on_request(RequestCode.CHECK_TRANSACTION_STATE, self._asked, group=group)

    def _asked(self, request: Request) -> None:
        try:
            (record,) = decode_records(request.body)
            header = decode_header(CheckTransaction, request.ext_fields)
            asked = half_message(record)
        except (ProtocolError, ValueError) as error:
            _LOG.warning("%s asks about a half message that can't be read: %s", request.peer, error)
            return
        with self._lock:
            # A check that takes long must not be begun again and again, or slow ones would take all workers.
            if asked.transaction_id in self._open or len(self._open) >= OPEN_MAX:
                return
            self._open.add(asked.transaction_id)
        half = Half(
            topic=asked.topic,
            half_offset=header.half_offset,
            log_offset=header.log_offset,
            transaction_id=asked.transaction_id,
            broker_name=header.broker_name,
        )
        address = self._client.address_of(request)

        def done(outcome: Outcome[Ended]) -> None:
            with self._lock:
                self._open.discard(asked.transaction_id)
            if outcome.error is not None:
                _LOG.warning("transaction %s is not answered: %s", asked.transaction_id, outcome.error)

        self._client.begin(self._answer(asked, half, address), done)

    def _answer(self, asked: HalfMessage, half: Half, address: str) -> Operation[Ended]:
        remark = None
        try:
            decision = (yield from offload(lambda: self._check(asked))) or Decision.UNKNOWN
        except Exception as error:  # noqa: BLE001 - a check that fails knows nothing, and the broker asks again
            _LOG.exception("the check of transaction %s has failed", asked.transaction_id)
            decision, remark = Decision.UNKNOWN, f"checkLocalTransactionState Exception. {error!r}"
        timeout_s = self._client.options.ask_timeout_s
        told = yield from self._deciding.end(half, decision, remark=remark, timeout_s=timeout_s, asked_by=address)
        if told not in (Ended.SETTLED, Ended.TOLD):
            _LOG.warning("%s of transaction %s is %s", decision.value, asked.transaction_id, told.value)
        return told
