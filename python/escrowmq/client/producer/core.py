"""What a producer and its twin under asyncio have in common: everything but the waiting."""

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from typing import Final

from escrowmq._core import Message, OutgoingMessage
from escrowmq.client import sharing
from escrowmq.client.operation import Operation
from escrowmq.client.options import ClientOptions
from escrowmq.client.producer.draft import check_group, check_topic, draft, draft_batch
from escrowmq.client.producer.options import ProducerOptions
from escrowmq.client.producer.queue_choice import Selector, by_key
from escrowmq.client.producer.results import SendResult
from escrowmq.client.producer.sending import Choose, Sending
from escrowmq.errors import Unsendable
from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol.headers.recall_message import RecallMessage
from escrowmq.protocol.properties import DELAY, SHARDING_KEY, TIMER_DELAY_MS, TIMER_DELIVER_MS
from escrowmq.protocol.question import Question, refusal
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode


class ProducerCore:
    """A group of producers on a client that it shares, and what is sent as operations."""

    def __init__(
        self,
        name_servers: str | Sequence[str],
        *,
        group: str,
        topics: Collection[str],
        options: ProducerOptions,
        client_options: ClientOptions,
    ) -> None:
        """Registers at once.

        Raises:
            ConfigError: An address is none.
            Unsendable: The name of the group or a topic is none.
        """
        check_group(group)
        for topic in topics:
            check_topic(topic)
        self.group: Final = group
        self.options: Final = options
        self.client: Final = sharing.acquire(name_servers, options=client_options)
        self._sending: Final = Sending(self.client, options)
        self._topics: Final = set(topics)
        self._registration: Final = self.client.register_producer(group, lambda: tuple(self._topics))
        self._is_closed = False

    def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None,
        selector: Selector | None,
        sharding_key: str | None,
        later: dict[str, str],
        timeout_s: float | None,
    ) -> Operation[SendResult]:
        """Sends one message."""
        made = self._draft(message, sharding_key, later)
        choose = _choice(message, queue, selector, sharding_key)
        return self._sending.send(made, choose=choose, timeout_s=timeout_s)

    def send_many(
        self, messages: Sequence[Message], *, queue: MessageQueue | None, timeout_s: float | None
    ) -> Operation[SendResult]:
        """Sends many messages in one request."""
        made = draft_batch(messages, group=self.group, options=self.options)
        self.used(made.topic)
        choose = None if queue is None else _always(queue)
        return self._sending.send(made, choose=choose, timeout_s=timeout_s)

    def send_one_way(
        self,
        message: Message,
        *,
        queue: MessageQueue | None,
        selector: Selector | None,
        sharding_key: str | None,
    ) -> Operation[None]:
        """Sends without an answer."""
        made = self._draft(message, sharding_key, {})
        return self._sending.tell(made, choose=_choice(message, queue, selector, sharding_key))

    def queues(self, topic: str) -> Operation[list[MessageQueue]]:
        """The queues of a topic that may be written to."""
        return list((yield from self._sending.publish_route(topic)).writable)

    def recall(self, topic: str, recall_handle: str) -> Operation[str]:
        """Takes a message for later back; its id.

        Raises:
            NotThere: There is no such topic.
            Refused: It was delivered already, or the handle is none.
            TransportError: The broker does not answer.
        """
        route = yield from self._sending.publish_route(topic)
        broker_name = next(iter(route.brokers), "")
        address = self.client.broker_address(broker_name) or ""
        header = RecallMessage(topic, recall_handle, self.group)
        question = Question(RequestCode.RECALL_MESSAGE, header)
        answer = yield from self.client.ask(address, question, timeout_s=self.options.send_timeout_s)
        if answer.code != ResponseCode.SUCCESS:
            raise refusal(address, question, answer)
        return answer.ext_fields.get("msgId", "")

    def closing(self) -> Operation[None]:
        """Brokers are told that this producer stops."""
        if not self._is_closed:
            self._is_closed = True
            yield from self._registration.closing()

    def release(self) -> None:
        """Gives the client back, once; the last one closes it."""
        sharing.release(self.client)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._is_closed

    def used(self, topic: str) -> None:
        """Brokers of this topic hear of the group too, from now on."""
        if topic not in self._topics:
            self._topics.add(topic)
            self.client.beat()

    def _draft(self, message: Message, sharding_key: str | None, later: dict[str, str]) -> OutgoingMessage:
        more = later if sharding_key is None else {**later, SHARDING_KEY: sharding_key}
        made = draft(message, group=self.group, options=self.options, more=more)
        self.used(made.topic)
        return made


def later_properties(*, delay_level: int | None, delay_s: float | None, deliver_at: datetime | None) -> dict[str, str]:
    """The properties that say when a message is to be delivered.

    Raises:
        Unsendable: They contradict each other, or say nothing that can be.
    """
    given = [name for name, value in _named(delay_level, delay_s, deliver_at) if value is not None]
    if len(given) > 1:
        raise Unsendable(f"{given[0]} and {given[1]} contradict each other", field=given[1], found=None, limit=None)
    if delay_level is not None:
        if delay_level < 0:
            raise Unsendable(f"a delay level of {delay_level}", field="delay_level", found=delay_level, limit=None)
        return {DELAY: str(delay_level)}
    if delay_s is not None:
        if not 0 <= delay_s < float("inf"):
            raise Unsendable(f"a delay of {delay_s} s", field="delay_s", found=delay_s, limit=None)
        return {TIMER_DELAY_MS: str(round(delay_s * 1_000))}
    if deliver_at is not None:
        # A time without a zone is of this machine's, as everywhere in Python.
        return {TIMER_DELIVER_MS: str(round(deliver_at.astimezone(UTC).timestamp() * 1_000))}
    return {}


def _named(
    delay_level: int | None, delay_s: float | None, deliver_at: datetime | None
) -> tuple[tuple[str, object], ...]:
    return (("delay_level", delay_level), ("delay_s", delay_s), ("deliver_at", deliver_at))


def _choice(
    message: Message, queue: MessageQueue | None, selector: Selector | None, sharding_key: str | None
) -> Choose | None:
    given = [each for each in (queue, selector, sharding_key) if each is not None]
    if len(given) > 1:
        reason = "of queue, selector and sharding_key one may be given"
        raise Unsendable(reason, field="queue", found=None, limit=None)
    if queue is not None:
        return _always(queue)
    if selector is not None:
        return lambda queues: selector(queues, message)
    if sharding_key is not None:
        return lambda queues: by_key(sharding_key, queues)
    return None


def _always(queue: MessageQueue) -> Callable[[Sequence[MessageQueue]], MessageQueue]:
    return lambda _: queue
