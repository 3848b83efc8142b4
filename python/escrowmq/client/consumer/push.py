"""What a consumer with handlers is made of, whether its handlers are functions or coroutine functions."""

import time
from typing import Final

from escrowmq.client.connection import Client
from escrowmq.client.consumer.answering import Questions
from escrowmq.client.consumer.delivering import Concurrent, Delivery
from escrowmq.client.consumer.delivering_in_order import InOrder
from escrowmq.client.consumer.member import Member, retry_subscription
from escrowmq.client.consumer.options import PushOptions
from escrowmq.client.consumer.process_queue import ProcessQueue
from escrowmq.client.consumer.running import Runner
from escrowmq.client.consumer.subscribing import subscription
from escrowmq.client.operation import Operation
from escrowmq.client.steps import pause

_SETTLE_PAUSE_S: Final = 0.02


class PushCore:
    """A member, and the way of its messages to a runner."""

    def __init__(self, client: Client, group: str, options: PushOptions, runner: Runner) -> None:
        self.member = Member(
            client,
            group,
            options,
            consume_type="CONSUME_PASSIVELY",
            progress=ProcessQueue.offset_to_commit,
            locks_interval_s=options.lock_interval_s if options.is_orderly and not options.is_broadcasting else None,
        )
        self._client = client
        self._options = options
        kind = InOrder if options.is_orderly else Concurrent
        self._delivery: Delivery = kind(self.member.reading, options, self.member.puller, runner)
        self.member.arrived = self._delivery.arrived
        self.member.unlocked = self._delivery.unlocked
        self._questions = Questions(self.member, runner=runner, is_orderly=options.is_orderly)
        if not options.is_broadcasting:
            retries = retry_subscription(group)
            self.member.subscriptions[retries.topic] = retries

    def subscribe(self, topic: str, tags: str, sql: str) -> None:
        """Notes what is wanted of a topic.

        Raises:
            ValueError: The name is none that a topic can have, or the expression none of tags.
        """
        self.member.wanted(subscription(topic, tags, sql, version=time.time_ns() // 1_000_000))

    def start(self) -> Operation[None]:
        """Begins to read."""
        self._questions.register(self._client, self.member.reading.group)
        yield from self.member.join()

    def settled(self, *, timeout_s: float) -> Operation[None]:
        """Waits until it is clear what becomes of the messages whose handlers have returned."""
        until_s = time.monotonic() + timeout_s
        while self._delivery.is_settling and time.monotonic() < until_s:
            yield from pause(_SETTLE_PAUSE_S)

    def stop(self) -> None:
        """Reads no more."""
        self.member.stop()
        self._questions.unregister()
