"""What follows a batch: everybody is told what it has changed, then whoever asked is answered.

The fast lane knows of a change before any of the batch is answered, and where a topic was made, name servers do.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, TypeAlias

import structlog

from escrowmq import _core
from escrowmq.broker.context import Context
from escrowmq.broker.held_answers import HeldAnswers
from escrowmq.broker.live_settings import LiveSettings
from escrowmq.broker.outcome import Notice, Retry, WhenDurable
from escrowmq.broker.registration import Registration
from escrowmq.broker.snapshot import Snapshots
from escrowmq.errors import BadFrame, ServerClosed
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

# Remarks repeat what was asked, which may be long; nobody reads more than this.
REMARK_LENGTH_MAX: Final = 4_096

# Who makes a topic by these may look it up at once, so name servers know of it before the answer goes out.
WAIT_FOR_NAME_SERVERS: Final = frozenset(
    {
        RequestCode.SEND_MESSAGE,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.CONSUMER_SEND_MSG_BACK,
        RequestCode.HEART_BEAT,
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
    }
)

Settled: TypeAlias = Answer | WhenDurable | Retry | _core.Answer
Answered: TypeAlias = tuple[_core.Request, _core.Answer]

_log = structlog.get_logger()


class Settling:
    """Answers requests, after telling who has to know."""

    def __init__(
        self,
        server: _core.BrokerServer,
        context: Context,
        *,
        live_settings: LiveSettings,
        snapshots: Snapshots,
        registration: Registration,
        name_server_wait_ms: int,
    ) -> None:
        self._server = server
        self._context = context
        self._live_settings = live_settings
        self._snapshots = snapshots
        self._registration = registration
        self._held: HeldAnswers[Answered] = HeldAnswers(wait_ms=name_server_wait_ms)

    def next_deadline_ms(self) -> float:
        """Until when the first answer waits for name servers; infinity if none does."""
        return self._held.next_deadline_ms()

    def settle(self, settled: Sequence[tuple[_core.Request, Settled]]) -> None:
        """Tells everybody what has changed, and answers whoever need not wait for that.

        A fault on the way costs those who asked, who are told, and not the broker.
        """
        try:
            self._settle(settled)
        except ServerClosed:
            raise
        except Exception as error:  # noqa: BLE001 - a fault in one batch must not take the broker down
            _log.error("batch failed", requests=len(settled), exc_info=error)
            failure = _core.Answer(ResponseCode.SYSTEM_ERROR, f"{type(error).__name__}: {error}"[:REMARK_LENGTH_MAX])
            for request, _ in settled:
                # Raised for those that were answered before the fault.
                with suppress(ValueError):
                    self._server.answer([(request, failure)])

    def _settle(self, settled: Sequence[tuple[_core.Request, Settled]]) -> None:
        self._live_settings.publish()
        self._snapshots.publish(self._server)
        now_ms = self._context.now_ms()
        ready = _natives(settled)
        changed = self._context.topics.take_changed()
        if changed:
            before = self._registration.waiting()
            self._registration.tell_changes(changed)
            tickets = self._registration.waiting() - before
            self._held.hold(
                [answer for answer in ready if answer[0].code in WAIT_FOR_NAME_SERVERS], tickets, now_ms=now_ms
            )
            ready = [answer for answer in ready if answer[0].code not in WAIT_FOR_NAME_SERVERS]
        ready += self._held.release(self._registration.waiting(), now_ms=now_ms)
        if ready:
            self._answer(ready)
        self._tell_members()
        for notice in self._context.notices:
            self._tell(notice)
        self._context.notices.clear()

    def _answer(self, answers: list[Answered]) -> None:
        """Sends answers; one that no header can express costs its own request only."""
        try:
            self._server.answer(answers)
        except BadFrame:
            for request, answer in answers:
                try:
                    self._server.answer([(request, answer)])
                except BadFrame as error:
                    self._server.answer([(request, _core.Answer(ResponseCode.SYSTEM_ERROR, str(error)))])

    def _tell_members(self) -> None:
        """Members of a group that has changed look again at who has which queues."""
        for name in sorted(self._context.groups_to_tell):
            group = self._context.clients.consumer_group(name)
            if group is not None and not group.is_broadcasting:
                for connection in group.members:
                    self._tell(Notice(connection, RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, {"consumerGroup": name}))
        self._context.groups_to_tell.clear()

    def _tell(self, notice: Notice) -> None:
        """Sends a notice; one that no header can express is left out."""
        try:
            self._server.send(notice.connection, notice.code, ext_fields=notice.ext_fields, body=notice.body or None)
        except BadFrame as error:
            _log.warning("notice not sent", connection=notice.connection, code=notice.code, reason=str(error))

    def release_all(self) -> None:
        """Answers whoever still waits for name servers."""
        self._answer(self._held.release((), now_ms=self._context.now_ms()))


def _natives(settled: Sequence[tuple[_core.Request, Settled]]) -> list[Answered]:
    """The answers as they are sent. One that many requests share is made once."""
    answered: list[Answered] = []
    last: Settled | None = None
    native = _core.Answer.RETRY
    for request, outcome in settled:
        if outcome is not last:
            last, native = outcome, _native(outcome)
        answered.append((request, native))
    return answered


def _native(outcome: Settled) -> _core.Answer:
    if isinstance(outcome, _core.Answer):
        return outcome
    if isinstance(outcome, Retry):
        return _core.Answer.RETRY
    answer = outcome.answer if isinstance(outcome, WhenDurable) else outcome
    remark = answer.remark[:REMARK_LENGTH_MAX] if answer.remark is not None else None
    fields, body = answer.ext_fields, answer.body or None
    if isinstance(outcome, WhenDurable):
        return _core.Answer(
            answer.code,
            remark,
            ext_fields=fields,
            body=body,
            after=outcome.end_offset,
            late_code=outcome.late_code,
            late_remark=outcome.late_remark,
        )
    return _core.Answer(answer.code, remark, ext_fields=fields, body=body)
