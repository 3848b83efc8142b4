"""How a producer sends, as operations: to which queue, how often, and which failure is the last one."""

import time
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from escrowmq._core import OutgoingMessage, Response
from escrowmq.client.connection import Client
from escrowmq.client.operation import Operation, Outcome
from escrowmq.client.producer.options import ProducerOptions
from escrowmq.client.producer.queue_choice import Turns
from escrowmq.client.producer.results import RETRIED_CODES, STATUSES, SendResult, SendStatus, send_result
from escrowmq.client.producer.slow_brokers import SlowBrokers
from escrowmq.client.routes import TopicRoute, topic_route
from escrowmq.errors import EscrowError, NoQueue, NotReachable, NotThere, SendFailed, TransportError
from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol.question import Question, refusal
from escrowmq.protocol.request_codes import RequestCode

Choose: TypeAlias = Callable[[Sequence[MessageQueue]], MessageQueue]
"""Which of a topic's queues, where the caller has a say."""

_SEND: Final = Question(RequestCode.SEND_MESSAGE_V2)


class Sending:
    """The sends of one producer."""

    def __init__(self, client: Client, options: ProducerOptions) -> None:
        self._client: Final = client
        self._options: Final = options
        self._turns: Final = Turns()
        self._slow: Final = SlowBrokers()

    def send(
        self, draft: OutgoingMessage, *, choose: Choose | None = None, timeout_s: float | None = None
    ) -> Operation[SendResult]:
        """Sends, and tries again on another broker where that may help and the caller did not choose the queue.

        Raises:
            NotThere: There is no such topic, and no broker makes new ones.
            NoQueue: Its brokers take no messages.
            Refused: A broker does not want it, and no other would.
            SendFailed: All tries failed.
        """
        until_s = time.monotonic() + (timeout_s or self._options.send_timeout_s)
        tries_max = 1 if choose is not None else 1 + self._options.retries_max
        failures: list[EscrowError] = []
        weak: SendResult | None = None
        failed_broker: str | None = None
        while len(failures) < tries_max and (time.monotonic() < until_s or not failures):
            route = self._client.routes.find(draft.topic) or (yield from self.publish_route(draft.topic))
            queue = self._choose(route, choose, failed_broker)
            try:
                answer = yield from self._try(draft, queue, until_s)
            except TransportError as error:
                failures.append(error)
                self._client.begin(self._look_again(draft.topic), _ignore)
            else:
                if answer.code in STATUSES:
                    result = send_result(draft.message_id, queue, answer)
                    if result.status is SendStatus.SEND_OK or not self._options.retries_weak_results:
                        return result
                    weak = result
                refused = refusal(queue.broker_name, _SEND, answer)
                if answer.code not in RETRIED_CODES and weak is None:
                    raise refused
                failures.append(refused)
            failed_broker = queue.broker_name
        if weak is not None:
            return weak
        raise _given_up(draft, failures)

    def tell(self, draft: OutgoingMessage, *, choose: Choose | None = None) -> Operation[None]:
        """Sends without an answer: nobody knows whether it arrives.

        Raises:
            NotThere: There is no such topic, and no broker makes new ones.
            NoQueue: Its brokers take no messages.
            NotReachable: Nobody knows where the broker is.
        """
        route = yield from self.publish_route(draft.topic)
        queue = self._choose(route, choose, None)
        address = self._address(queue.broker_name)
        yield from self._client.tell(address, draft.request(queue.queue_id, queue.broker_name))

    def publish_route(self, topic: str) -> Operation[TopicRoute]:
        """Where a topic's messages go; for one that is not there, where it would be made.

        Raises:
            NotThere: No broker makes new topics.
        """
        try:
            return (yield from self._client.route(topic))
        except NotThere:
            try:
                template = yield from self._client.route(self._options.template_topic)
            except NotThere:
                reason = f"there is no topic {topic!r}, and no broker makes new ones"
                raise NotThere(reason, kind="topic", name=topic) from None
        return topic_route(topic, template.data, queues_max=self._options.new_topic_queues)

    def _choose(self, route: TopicRoute, choose: Choose | None, failed_broker: str | None) -> MessageQueue:
        if not route.writable:
            raise NoQueue(f"topic {route.topic!r} has no queue that may be written to", topic=route.topic)
        if choose is not None:
            return choose(route.writable)
        if failed_broker is None and not self._options.avoids_slow_brokers:
            return self._turns.choose(route.topic, route.writable)
        slow = self._slow.names() if self._options.avoids_slow_brokers else ()
        avoided = {*slow, failed_broker} if failed_broker is not None else {*slow}
        return self._turns.choose(route.topic, route.writable, avoided=avoided)

    def _try(self, draft: OutgoingMessage, queue: MessageQueue, until_s: float) -> Operation[Response]:
        address = self._address(queue.broker_name)
        started_s = time.monotonic()
        left_s = max(until_s - started_s, 0.0)
        patience_s = left_s if self._options.try_timeout_s is None else min(left_s, self._options.try_timeout_s)
        try:
            request = draft.request(queue.queue_id, queue.broker_name)
            answer = yield from self._client.ask(address, request, timeout_s=patience_s)
        except TransportError:
            self._slow.failed(queue.broker_name)
            raise
        self._slow.took(queue.broker_name, time.monotonic() - started_s)
        return answer

    def _address(self, broker_name: str) -> str:
        address = self._client.broker_address(broker_name)
        if address is None:
            raise NotReachable(f"nobody knows where broker {broker_name!r} is", address=broker_name)
        return address

    def _look_again(self, topic: str) -> Operation[None]:
        """A broker that can't be reached may be somewhere else, or out of the route, by now."""
        yield from self._client.route(topic, fresh=True)


def _given_up(draft: OutgoingMessage, failures: Sequence[EscrowError]) -> EscrowError:
    last = failures[-1]
    reasons = [str(failure) for failure in failures]
    tries = "a try" if len(failures) == 1 else f"{len(failures)} tries"
    error = SendFailed(
        f"message {draft.message_id} to topic {draft.topic!r} is not acknowledged after {tries}: {last}",
        message_id=draft.message_id,
        tries=len(failures),
        reasons=reasons,
    )
    error.__cause__ = last
    return error


def _ignore(outcome: Outcome[None]) -> None:
    """What was known stays known."""
