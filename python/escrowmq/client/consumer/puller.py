"""Keeps the queues of a member filled: one pull in flight for each, and no thread.

next ──▶ full, paused, not ours yet? ──▶ rests until `wake`
  ▲   └▶ pull ──▶ messages: to the handlers ─┐
  │          ├──▶ nothing, or moved ─────────┤
  │          └──▶ an error ──▶ a pause ──────┤
  └──────────────────────────────────────────┘
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from escrowmq.client.connection import Client
from escrowmq.client.consumer.limits import is_full
from escrowmq.client.consumer.options import ConsumerOptions
from escrowmq.client.consumer.process_queue import ProcessQueue
from escrowmq.client.consumer.pull_exchange import PullAnswer, Pulled, pull_header, read_pull
from escrowmq.client.consumer.subscribing import second_look
from escrowmq.client.operation import Operation, Outcome
from escrowmq.errors import EscrowError, NotThere
from escrowmq.model.subscription import Subscription
from escrowmq.protocol.question import Question
from escrowmq.protocol.request_codes import RequestCode

_LOG: Final = logging.getLogger("escrowmq.client")

_SILENCE_S: Final = 15.0
"""How much longer than it may wait a broker is waited for."""


class Puller:
    """Pulls queues from when they are begun until they are dropped."""

    def __init__(
        self,
        client: Client,
        group: str,
        options: ConsumerOptions,
        *,
        progress: Callable[[ProcessQueue], int | None],
        subscription: Callable[[str], Subscription],
        may_pull: Callable[[ProcessQueue], bool],
        arrived: Callable[[ProcessQueue, int], None],
        moved: Callable[[ProcessQueue, int], None],
        brings_subscription: bool,
    ) -> None:
        """Makes one.

        Args:
            client: What asks.
            group: Who reads.
            options: How much is fetched, and how long brokers may wait.
            progress: How far the group is, which brokers are told by the way.
            subscription: What is wanted of a topic.
            may_pull: Whether a queue may be pulled at all at the moment.
            arrived: Called when messages have come, with their number.
            moved: Called when a queue goes on somewhere else.
            brings_subscription: Whether a pull says itself what it wants, since no heartbeat does.
        """
        self._client = client
        self._group = group
        self._options = options
        self._progress = progress
        self._subscription = subscription
        self._may_pull = may_pull
        self._arrived = arrived
        self._moved = moved
        self._brings_subscription = brings_subscription
        self._is_stopped = False

    def stop(self) -> None:
        """Begins no more pulls; what comes of those that are in flight is dropped."""
        self._is_stopped = True

    def wake(self, queue: ProcessQueue) -> None:
        """Looks whether a queue has room again, or may be pulled again."""
        while self._is_ready(queue) and (claim := queue.claim_pull()) is not None:
            if self._is_ready(queue):
                answered = partial(self._answered, queue, claim, queue.next_offset)
                self._client.begin(self._pull(queue), answered)
                return
            # Whoever makes room in between finds the queue claimed, and leaves it to the second look.
            queue.release_pull(claim)

    def _is_ready(self, queue: ProcessQueue) -> bool:
        return not (
            self._is_stopped
            or queue.is_dropped
            or queue.is_paused
            or is_full(queue, self._options.fetch)
            or not self._may_pull(queue)
        )

    def _pull(self, queue: ProcessQueue) -> Operation[PullAnswer]:
        place = queue.queue
        subscription = self._subscription(place.topic)
        address = self._client.broker_address(place.broker_name, only_master=False)
        if address is None:
            raise NotThere(f"nobody knows where broker {place.broker_name} is", kind="broker", name=place.broker_name)
        header = pull_header(
            self._group,
            place,
            queue.next_offset,
            subscription,
            commit=None if self._options.is_broadcasting else self._progress(queue),
            count_max=self._options.pull_count_max,
            wait_max_ms=self._options.pull_wait_ms,
            brings_subscription=self._brings_subscription,
        )
        question = Question(RequestCode.PULL_MESSAGE, header)
        timeout_s = self._options.pull_wait_ms / 1_000 + _SILENCE_S
        response = yield from self._client.ask(address, question, timeout_s=timeout_s)
        return read_pull(place, response, second_look(subscription))

    def _answered(self, queue: ProcessQueue, claim: object, begin: int, outcome: Outcome[PullAnswer]) -> None:
        try:
            answer = outcome.get()
        except EscrowError as error:
            return self._rest(queue, claim, str(error))
        if answer.kind is Pulled.REFUSED:
            return self._rest(queue, claim, answer.remark)
        if answer.kind is Pulled.MOVED:
            self._move(queue, begin, answer.next_offset)
        elif queue.put(answer.messages, begin=begin, next_offset=answer.next_offset) and answer.messages:
            self._arrived(queue, len(answer.messages))
        queue.release_pull(claim)
        self.wake(queue)
        return None

    def _move(self, queue: ProcessQueue, begin: int, next_offset: int) -> None:
        """The broker has no such offset, or an operator moved the group: what is known of the queue counts no more."""
        if queue.is_dropped or begin != queue.next_offset:
            return
        _LOG.info(
            "a queue goes on somewhere else: queue %s, asked for %s, next offset %s", queue.queue, begin, next_offset
        )
        self._moved(queue, next_offset)

    def _rest(self, queue: ProcessQueue, claim: object, why: str) -> None:
        """Leaves a queue alone for a while, whose pull failed."""
        if self._is_stopped or queue.is_dropped:
            return
        _LOG.warning("a queue can't be read: group %s, queue %s, error %s", self._group, queue.queue, why)
        self._client.later(self._options.error_pause_s, partial(self._rested, queue, claim))

    def _rested(self, queue: ProcessQueue, claim: object) -> None:
        if queue.release_pull(claim):
            self.wake(queue)
