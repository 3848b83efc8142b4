"""What consumers ask brokers, as operations."""

from collections.abc import Collection, Sequence
from typing import Final

from escrowmq._core import Response
from escrowmq.client.connection import Client
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.client.consumer.retry_rules import retry_properties
from escrowmq.client.operation import Operation
from escrowmq.errors import NotThere
from escrowmq.model import names
from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol import properties
from escrowmq.protocol.bodies.consumer_list import decode_consumer_list
from escrowmq.protocol.bodies.lock_batch import LockBatch, decode_locked, encode_lock_batch
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.get_consumer_list import GetConsumerList
from escrowmq.protocol.headers.query_consumer_offset import QueryConsumerOffset
from escrowmq.protocol.headers.search_offset import OffsetAnswer, SearchOffset
from escrowmq.protocol.headers.send_back import SendBack
from escrowmq.protocol.headers.send_message import SendMessageV2
from escrowmq.protocol.headers.update_consumer_offset import UpdateConsumerOffset
from escrowmq.protocol.question import Question, refusal
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

_NEW_TOPIC_QUEUES: Final = 4


class BrokerRequests:
    """Questions of one group, each to the broker that it is about."""

    def __init__(self, client: Client, group: str, *, timeout_s: float) -> None:
        self._client = client
        self._group = group
        self._timeout_s = timeout_s

    def members(self, broker_name: str) -> Operation[list[str]]:
        """The ids of the group's members.

        Raises:
            Refused: The broker does not know of the group yet.
            TransportError: It does not answer.
        """
        question = Question(RequestCode.GET_CONSUMER_LIST_BY_GROUP, GetConsumerList(self._group))
        response = yield from self._ask(broker_name, question)
        return decode_consumer_list(response.body)

    def committed(self, queue: MessageQueue) -> Operation[int | None]:
        """What the group reads next of a queue; None where it has read nothing.

        Raises:
            Refused: The broker does not say.
            TransportError: It does not answer.
        """
        header = QueryConsumerOffset(self._group, queue.topic, queue.queue_id, is_zero_if_young=False)
        response = yield from self._ask(
            queue.broker_name,
            Question(RequestCode.QUERY_CONSUMER_OFFSET, header),
            accepted=(ResponseCode.SUCCESS, ResponseCode.QUERY_NOT_FOUND),
        )
        return None if response.code == ResponseCode.QUERY_NOT_FOUND else _offset(response)

    def commit(self, queue: MessageQueue, offset: int) -> Operation[None]:
        """Says what the group reads next of a queue.

        Raises:
            Refused: The broker does not take it.
            TransportError: It does not answer.
        """
        header = UpdateConsumerOffset(self._group, queue.topic, queue.queue_id, offset)
        yield from self._ask(queue.broker_name, Question(RequestCode.UPDATE_CONSUMER_OFFSET, header))

    def last_offset(self, queue: MessageQueue) -> Operation[int]:
        """The offset behind the last message."""
        header = SearchOffset(queue.topic, queue.queue_id, 0)
        return _offset((yield from self._ask(queue.broker_name, Question(RequestCode.GET_MAX_OFFSET, header))))

    def first_offset(self, queue: MessageQueue) -> Operation[int]:
        """The offset of the first message that is there."""
        header = SearchOffset(queue.topic, queue.queue_id, 0)
        return _offset((yield from self._ask(queue.broker_name, Question(RequestCode.GET_MIN_OFFSET, header))))

    def offset_by_time(self, queue: MessageQueue, timestamp_ms: int) -> Operation[int]:
        """The offset of the first message from a time on."""
        header = SearchOffset(queue.topic, queue.queue_id, timestamp_ms)
        question = Question(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)
        return _offset((yield from self._ask(queue.broker_name, question)))

    def lock(self, broker_name: str, queues: Sequence[MessageQueue]) -> Operation[list[MessageQueue]]:
        """Which of these queues nobody else has: they are ours now for a while."""
        body = encode_lock_batch(LockBatch(self._client.client_id, self._group, list(queues)))
        response = yield from self._ask(broker_name, Question(RequestCode.LOCK_BATCH_MQ, body=body))
        return decode_locked(response.body)

    def unlock(self, broker_name: str, queues: Collection[MessageQueue]) -> Operation[None]:
        """Gives queues away."""
        body = encode_lock_batch(LockBatch(self._client.client_id, self._group, list(queues)))
        yield from self._ask(broker_name, Question(RequestCode.UNLOCK_BATCH_MQ, body=body))

    def send_back(self, message: ReceivedMessage, *, delay_level: int, retries_max: int) -> Operation[None]:
        """Has the broker deliver a message again later, or put it among the dead letters.

        Raises:
            Refused: The broker does not do it.
            TransportError: It does not answer.
        """
        header = SendBack(message.record.log_offset, self._group, delay_level, retries_max=retries_max)
        question = Question(RequestCode.CONSUMER_SEND_MSG_BACK, header)
        yield from self._ask(message.queue.broker_name, question)

    def send_to_retry(self, message: ReceivedMessage, *, retries_max: int, now_ms: int) -> Operation[None]:
        """Sends a message to the group's retry topic as a new one: the broker counts, and knows dead letters.

        Raises:
            Refused: The broker does not take it.
            TransportError: It does not answer.
        """
        header = SendMessageV2(
            topic=names.retry_topic(self._group),
            default_topic=names.DEFAULT_TOPIC,
            default_topic_queues=_NEW_TOPIC_QUEUES,
            queue_id=0,
            system_flag=0,
            born_timestamp_ms=now_ms,
            flag=message.flag,
            properties=properties.encode(retry_properties(message, retries_max=retries_max)).decode(),
            reconsume_times=message.reconsume_times + 1,
            retries_max=retries_max,
            producer_group=_INNER_PRODUCER,
        )
        question = Question(RequestCode.SEND_MESSAGE_V2, header, message.body)
        yield from self._ask(message.queue.broker_name, question)

    def _ask(
        self, broker_name: str, question: Question, *, accepted: Collection[int] = (ResponseCode.SUCCESS,)
    ) -> Operation[Response]:
        address = self._client.broker_address(broker_name)
        if address is None:
            raise NotThere(f"nobody knows where broker {broker_name} is", kind="broker", name=broker_name)
        response = yield from self._client.ask(address, question, timeout_s=self._timeout_s)
        if response.code not in accepted:
            raise refusal(address, question, response)
        return response


_INNER_PRODUCER: Final = "CLIENT_INNER_PRODUCER"


def _offset(response: Response) -> int:
    return decode_header(OffsetAnswer, response.ext_fields).offset
