"""What brokers ask members, most of it for operators: to divide queues anew, to move, to say how they are.

A client may have several consumers; requests name the group, so each goes to its own.
"""

import sys
import time
import traceback
from typing import TYPE_CHECKING, Final

from escrowmq._core import Answer, Request, decode_records
from escrowmq.client.connection import Client
from escrowmq.client.consumer.member import Member
from escrowmq.client.consumer.process_queue import ProcessQueue
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.client.consumer.retry_rules import Consumed
from escrowmq.client.consumer.running import Runner, Said
from escrowmq.errors import EscrowError
from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol.bodies.consume_result import ConsumeResult, encode_consume_result
from escrowmq.protocol.bodies.consumer_running_info import QueueInfo, encode_running_info
from escrowmq.protocol.bodies.consumer_status import encode_client_status
from escrowmq.protocol.bodies.queue_offsets import decode_queue_offsets
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

if TYPE_CHECKING:
    from collections.abc import Callable

_MIB: Final = 1 << 20


class Questions:
    """Answers for one member."""

    def __init__(self, member: Member, *, runner: Runner | None, is_orderly: bool) -> None:
        self._member = member
        self._runner = runner
        self._is_orderly = is_orderly
        self._ends: list[Callable[[], None]] = []

    def register(self, client: Client, group: str) -> None:
        """Has the requests for a group answered."""
        handlers: dict[int, Callable[[Request], Answer | None]] = {
            RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: self._members_changed,
            RequestCode.RESET_CONSUMER_CLIENT_OFFSET: self._reset,
            RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: self._status,
            RequestCode.GET_CONSUMER_RUNNING_INFO: self._running_info,
            RequestCode.CONSUME_MESSAGE_DIRECTLY: self._consume_directly,
        }
        self._ends = [client.on_request(code, handler, group=group) for code, handler in handlers.items()]

    def unregister(self) -> None:
        """Answers nothing more."""
        for end in self._ends:
            end()

    def _consume_directly(self, request: Request) -> Answer | None:
        """Has a message handled now, whatever becomes of it, and says how that went."""
        if self._runner is None:
            return Answer(ResponseCode.SYSTEM_ERROR, remark="this consumer has no handler")
        try:
            (record,) = decode_records(request.body)
        except (EscrowError, ValueError) as error:
            return Answer(ResponseCode.SYSTEM_ERROR, remark=f"the body is no message: {error}")
        broker_name = request.ext_fields.get("brokerName", "")
        message = ReceivedMessage(record, MessageQueue(broker_name, record.queue_id, record.topic))
        began_s = time.monotonic()

        def said(outcome: Said) -> None:
            spent_ms = round((time.monotonic() - began_s) * 1_000)
            result = ConsumeResult(_result(outcome), outcome.error or None, spent_ms)
            answer = Answer(ResponseCode.SUCCESS, body=encode_consume_result(result, is_orderly=self._is_orderly))
            self._member.reading.client.answer(request, answer)

        self._runner.submit_one(message, said)
        return None

    def _members_changed(self, _: Request) -> None:
        self._member.rebalance()

    def _reset(self, request: Request) -> None:
        try:
            offsets = decode_queue_offsets(request.body)
        except EscrowError:
            # Nobody waits for an answer, and the operator sees that nothing moves.
            return
        for place, offset in offsets.items():
            if (queue := self._member.reading.holdings.find(place)) is not None:
                self._member.move(queue, offset)

    def _status(self, request: Request) -> Answer:
        topic = request.ext_fields.get("topic")
        offsets = {
            queue.queue: queue.offset_to_commit()
            for queue in self._member.reading.holdings.all()
            if queue.queue.topic == topic
        }
        return Answer(ResponseCode.SUCCESS, body=encode_client_status(offsets))

    def _running_info(self, request: Request) -> Answer:
        member = self._member
        properties = {
            "PROP_CONSUMEORDERLY": str(self._is_orderly).lower(),
            "PROP_CONSUME_TYPE": member.consume_type,
            "PROP_CONSUMER_START_TIMESTAMP": str(member.started_ms),
            "PROP_CLIENT_VERSION": "V5_5_0",
            "PROP_THREADPOOL_CORE_SIZE": "1",
        }
        wants_stack = request.ext_fields.get("jstackEnable", "").lower() == "true"
        body = encode_running_info(
            properties=properties,
            subscriptions=list(member.subscriptions.values()),
            queues={queue.queue: self._info(queue) for queue in member.reading.holdings.all()},
            stack=_stacks() if wants_stack else None,
        )
        return Answer(ResponseCode.SUCCESS, body=body)

    def _info(self, queue: ProcessQueue) -> QueueInfo:
        locks = self._member.reading.locks
        return QueueInfo(
            commit_offset=queue.offset_to_commit(),
            cached_min_offset=queue.offset_to_commit() if queue.count else 0,
            cached_max_offset=queue.next_offset - 1 if queue.count else 0,
            cached_count=queue.count,
            cached_size_mib=queue.size_bytes // _MIB,
            is_locked=locks is not None and locks.has(queue.queue),
            is_dropped=queue.is_dropped,
        )


def _result(said: Said) -> str:
    """RocketMQ's word for it."""
    if said.error:
        return "CR_THROW_EXCEPTION"
    return "CR_LATER" if said.consumed is Consumed.RECONSUME_LATER else "CR_SUCCESS"


def _stacks() -> str:
    frames = sys._current_frames()
    return "\n".join(f"Thread {ident}\n{''.join(traceback.format_stack(frame))}" for ident, frame in frames.items())
