"""Half messages and decisions as operations: prepare, end, and bring back what a broker has given up."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from escrowmq._core import Message, Response, decode_records
from escrowmq.client.connection import Client
from escrowmq.client.operation import Operation
from escrowmq.client.producer.draft import draft
from escrowmq.client.producer.options import ProducerOptions
from escrowmq.client.producer.queue_choice import Turns
from escrowmq.client.producer.results import SendResult, SendStatus
from escrowmq.client.producer.sending import Sending
from escrowmq.client.steps import together
from escrowmq.client.transactions.values import Decision, Ended, Prepared
from escrowmq.errors import EscrowError, PrepareFailed, ProtocolError
from escrowmq.model.message_id import log_offset_of
from escrowmq.model.names import DISCARD_TOPIC
from escrowmq.protocol.headers.end_transaction import COMMIT, ROLLBACK, EndTransaction, ResumeCheck
from escrowmq.protocol.headers.query_message import QueryMessage
from escrowmq.protocol.properties import PRODUCER_GROUP, TRANSACTION_PREPARED
from escrowmq.protocol.question import Question
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

_FLAGS: Final = {Decision.COMMIT: COMMIT, Decision.ROLLBACK: ROLLBACK, Decision.UNKNOWN: 0}
_DISCARDED: Final = "discarded"
_FOR_EVER_MS: Final = 1 << 62
_REMARK_MAX: Final = 1_000


class Half(Struct, frozen=True):
    """A half message as an END names it."""

    topic: str
    half_offset: int
    log_offset: int
    transaction_id: str
    broker_name: str

    @staticmethod
    def of(prepared: Prepared) -> "Half":
        """The one that was prepared."""
        return Half(
            topic=prepared.message.topic,
            half_offset=prepared.half_offset,
            log_offset=prepared.log_offset,
            transaction_id=prepared.transaction_id,
            broker_name=prepared.broker_name,
        )


class Deciding:
    """The transactions of one producer group."""

    def __init__(self, client: Client, group: str, options: ProducerOptions) -> None:
        self._client: Final = client
        self._group: Final = group
        self._options: Final = options
        self._sending: Final = Sending(client, options)
        self._turns: Final = Turns()

    def prepare(self, message: Message, *, timeout_s: float | None = None) -> Operation[tuple[SendResult, Prepared]]:
        """Sends a half message. One whose result is not SEND_OK is there, but to be rolled back.

        Raises:
            EscrowError: What `Sending.send` raises.
        """
        marks = {TRANSACTION_PREPARED: "true", PRODUCER_GROUP: self._group}
        half = draft(message, group=self._group, options=self._options, more=marks, is_prepared=True)
        sent = yield from self._sending.send(half, timeout_s=timeout_s)
        try:
            log_offset = log_offset_of(sent.offset_message_id)
        except ValueError as error:
            raise ProtocolError(f"broker {sent.queue.broker_name!r} gives no id to a half message: {error}") from error
        return sent, Prepared(
            message=message,
            broker_name=sent.queue.broker_name,
            queue=sent.queue,
            half_offset=sent.queue_offset,
            log_offset=log_offset,
            transaction_id=half.message_id,
        )

    def prepare_all(self, messages: Sequence[Message], *, timeout_s: float | None = None) -> Operation[list[Prepared]]:
        """Sends half messages at a time, all or an error.

        Raises:
            PrepareFailed: One of them is not acknowledged, or not as safely as the broker wishes.
        """
        outcomes = yield from together([self.prepare(message, timeout_s=timeout_s) for message in messages])
        prepared = [outcome.get()[1] for outcome in outcomes if outcome.error is None]
        reasons = [str(outcome.error) for outcome in outcomes if outcome.error is not None]
        weak = [sent for sent, _ in (each.get() for each in outcomes if each.error is None)]
        reasons += [f"a half message is stored as {sent.status.value}" for sent in weak if not _is_safe(sent)]
        if reasons:
            failure = PrepareFailed(
                f"{len(reasons)} of {len(messages)} half messages of group {self._group!r} failed: {reasons[0]}",
                prepared=prepared,
            )
            raise failure from next((each.error for each in outcomes if each.error is not None), None)
        return prepared

    def end_all(
        self, prepared: Sequence[Prepared], decision: Decision, *, remark: str | None = None, timeout_s: float
    ) -> Operation[list[Ended]]:
        """Tells brokers a decision, and what came of each. Does not raise."""
        halves = [Half.of(each) for each in prepared]
        outcomes = yield from together(
            [self.end(half, decision, remark=remark, timeout_s=timeout_s) for half in halves]
        )
        return [Ended.UNREACHABLE if outcome.error is not None else outcome.get() for outcome in outcomes]

    def end(
        self,
        half: Half,
        decision: Decision,
        *,
        remark: str | None = None,
        timeout_s: float,
        asked_by: str | None = None,
    ) -> Operation[Ended]:
        """Tells a broker a decision: the one that has the half message, or the one that asked, by its address."""
        address = asked_by or self._client.broker_address(half.broker_name)
        if address is None:
            return Ended.UNREACHABLE
        header = EndTransaction(
            producer_group=self._group,
            half_offset=half.half_offset,
            log_offset=half.log_offset,
            commit_or_rollback=_FLAGS[decision],
            message_id=half.transaction_id,
            is_from_check=asked_by is not None,
            transaction_id=half.transaction_id,
            topic=half.topic,
            broker_name=half.broker_name,
        )
        question = Question(RequestCode.END_TRANSACTION, header, remark=(remark or "")[:_REMARK_MAX] or None)
        try:
            if decision is Decision.UNKNOWN:
                # Compat: Apache's broker answers a commit or a rollback that wants an answer, but never this.
                yield from self._client.tell(address, question)
                return Ended.TOLD
            return ended((yield from self._client.ask(address, question, timeout_s=timeout_s)))
        except EscrowError:
            return Ended.UNREACHABLE

    def resume(self, prepared: Prepared, *, timeout_s: float) -> Operation[bool]:
        """Brings a transaction back that its broker has given up: it is asked about again. Whether that was done."""
        address = self._client.broker_address(prepared.broker_name)
        if address is None:
            return False
        header = QueryMessage(DISCARD_TOPIC, prepared.transaction_id, 32, 0, _FOR_EVER_MS, unique="true")
        question = Question(RequestCode.QUERY_MESSAGE, header)
        try:
            answer = yield from self._client.ask(address, question, timeout_s=timeout_s)
            if answer.code != ResponseCode.SUCCESS:
                return False
            for record in reversed(decode_records(answer.body)):
                if record.unique_id == prepared.transaction_id:
                    resume = Question(
                        RequestCode.RESUME_CHECK_HALF_MESSAGE, ResumeCheck(record.offset_message_id, DISCARD_TOPIC)
                    )
                    resumed = yield from self._client.ask(address, resume, timeout_s=timeout_s)
                    return bool(resumed.code == ResponseCode.SUCCESS)
        except EscrowError:
            pass
        return False


def ended(answer: Response) -> Ended:
    """What a broker's answer to a decision means."""
    if answer.code == ResponseCode.SUCCESS:
        return Ended.SETTLED
    if answer.code == ResponseCode.ILLEGAL_OPERATION:
        return Ended.DISCARDED if _DISCARDED in (answer.remark or "") else Ended.CONTRADICTED
    return Ended.MISSING if answer.code == ResponseCode.SYSTEM_ERROR else Ended.REFUSED


def _is_safe(sent: SendResult) -> bool:
    return sent.status is SendStatus.SEND_OK
