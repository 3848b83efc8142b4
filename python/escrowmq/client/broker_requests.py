"""What brokers ask clients, and who answers it: by the code, and by the group that the request names."""

import logging
import threading
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from escrowmq._core import Answer, Request, decode_records
from escrowmq.errors import BadRecord
from escrowmq.protocol.properties import PRODUCER_GROUP
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

_LOG: Final = logging.getLogger("escrowmq.client")

Handler: TypeAlias = Callable[[Request], Answer | None]
"""On the dispatch thread, so it must not block; None where nothing is to be answered, or later."""

_GROUP_FIELDS: Final = ("consumerGroup", "group", "producerGroup")


class Answering(Protocol):
    """Where answers go."""

    def answer(self, answers: list[tuple[Request, Answer]]) -> None:
        """Sends them."""


class BrokerRequests:
    """The handlers. Any thread adds them, the dispatch thread calls them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handlers: dict[tuple[int, str | None], Handler] = {}

    def forget_parent(self) -> None:
        """In a process that was forked off, whoever had the lock may not be there to give it back."""
        self._lock = threading.Lock()

    def handle(self, code: int, handler: Handler, *, group: str | None = None) -> Callable[[], None]:
        """Has requests of a code answered, for one group, or for all without a handler; ends when called."""
        key = (code, group)
        with self._lock:
            self._handlers[key] = handler

        def end() -> None:
            with self._lock:
                if self._handlers.get(key) is handler:
                    del self._handlers[key]

        return end

    def answer(self, request: Request, server: Answering) -> None:
        """Answers a request."""
        handler = self._find(request)
        if handler is None:
            _LOG.debug("nobody here answers request %s of %s", request.code, request.peer)
            answer: Answer | None = Answer(
                ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f"this client has nobody for request {request.code}"
            )
        else:
            try:
                answer = handler(request)
            except Exception as error:  # noqa: BLE001 - it is logged, and the broker is told
                _LOG.exception("request %s of %s could not be answered", request.code, request.peer)
                answer = Answer(ResponseCode.SYSTEM_ERROR, f"{type(error).__name__}: {error}")
        if answer is not None and not request.is_one_way:
            server.answer([(request, answer)])

    def _find(self, request: Request) -> Handler | None:
        with self._lock:
            if not self._handlers:
                return None
            own = self._handlers.get((request.code, _group_of(request)))
            return own or self._handlers.get((request.code, None))


def _group_of(request: Request) -> str | None:
    """Which producers or consumers a request is for."""
    if request.code == RequestCode.CHECK_TRANSACTION_STATE:
        try:
            records = decode_records(request.body)
        except BadRecord:
            return None
        return records[0].find_property(PRODUCER_GROUP) if records else None
    fields = request.ext_fields
    return next((fields[name] for name in _GROUP_FIELDS if name in fields), None)
