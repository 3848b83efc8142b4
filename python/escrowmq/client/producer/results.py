"""What comes of a send."""

from enum import Enum
from typing import Final

from msgspec import Struct

from escrowmq._core import Response
from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol.response_codes import ResponseCode


class SendStatus(Enum):
    """How safely a message is stored. Names are RocketMQ's."""

    SEND_OK = "SEND_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    """Stored; whether it is on disk is not known yet."""
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    """Stored; whether the broker's slave has it is not known yet."""
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"
    """Stored; the broker has no slave that it should have."""


class SendResult(Struct, frozen=True):
    """A message that was stored, and where."""

    status: SendStatus
    message_id: str
    """The id that its producer gave it; those of a batch with commas between them."""
    queue: MessageQueue
    queue_offset: int
    """Its place in the queue; of a batch that of the first."""
    offset_message_id: str
    """The id that says where it is; those of a batch with commas between them."""
    transaction_id: str | None = None
    recall_handle: str | None = None
    """What `recall` needs to take back a message for later."""

    @property
    def message_ids(self) -> list[str]:
        """The ids of a batch's messages one by one."""
        return self.message_id.split(",")


STATUSES: Final = {
    int(ResponseCode.SUCCESS): SendStatus.SEND_OK,
    int(ResponseCode.FLUSH_DISK_TIMEOUT): SendStatus.FLUSH_DISK_TIMEOUT,
    int(ResponseCode.FLUSH_SLAVE_TIMEOUT): SendStatus.FLUSH_SLAVE_TIMEOUT,
    int(ResponseCode.SLAVE_NOT_AVAILABLE): SendStatus.SLAVE_NOT_AVAILABLE,
}
"""The answers that mean that a message was stored."""

RETRIED_CODES: Final = frozenset(
    {
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.NO_PERMISSION,
        ResponseCode.NO_BUYER_ID,
        ResponseCode.NOT_IN_CURRENT_UNIT,
        ResponseCode.GO_AWAY,
    }
)
"""The answers on which another broker is tried, as RocketMQ's producers do."""


def send_result(message_id: str, queue: MessageQueue, answer: Response) -> SendResult:
    """The result that an answer means; its code is one of `STATUSES`."""
    fields = answer.ext_fields
    queue_id = int(fields.get("queueId", queue.queue_id))
    chosen = queue if queue_id == queue.queue_id else MessageQueue(queue.broker_name, queue_id, queue.topic)
    return SendResult(
        status=STATUSES[answer.code],
        message_id=message_id,
        queue=chosen,
        queue_offset=int(fields.get("queueOffset", -1)),
        offset_message_id=fields.get("msgId", ""),
        transaction_id=fields.get("transactionId"),
        recall_handle=fields.get("recallHandle"),
    )
