"""Messages to handlers, any number of them at a time, and what becomes of those that fail."""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Final, Protocol

from escrowmq.client.consumer.options import PushOptions
from escrowmq.client.consumer.process_queue import Batch, ProcessQueue
from escrowmq.client.consumer.puller import Puller
from escrowmq.client.consumer.rebalancing import Reading
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.client.consumer.retry_rules import LEVEL_BY_RETRIES
from escrowmq.client.consumer.running import LOCAL_RETRY_S, Runner, Said, Tally
from escrowmq.client.operation import Operation, Outcome
from escrowmq.errors import EscrowError

_LOG: Final = logging.getLogger("escrowmq.client")


class Delivery(Protocol):
    """How messages go to handlers."""

    def arrived(self, queue: ProcessQueue, count: int) -> None:
        """So many messages have come."""

    def unlocked(self, queue: ProcessQueue) -> None:
        """Something that was in the way may be no more."""

    @property
    def is_settling(self) -> bool:
        """Whether it is not clear yet what becomes of messages whose handler has returned."""


class Concurrent:
    """Every batch for itself: what fails is given back to the broker, and the others go on."""

    def __init__(self, reading: Reading, options: PushOptions, puller: Puller, runner: Runner) -> None:
        self._reading = reading
        self._options = options
        self._puller = puller
        self._runner = runner
        self._settling = Tally()

    @property
    def is_settling(self) -> bool:
        """Whether messages are on their way back."""
        return bool(self._settling)

    def arrived(self, queue: ProcessQueue, count: int) -> None:
        """Has as many batches taken as the messages make."""
        for _ in range(-(-count // self._options.batch_max)):
            self._runner.submit(partial(queue.take, self._options.batch_max), self._settle)

    def unlocked(self, queue: ProcessQueue) -> None:
        """Nothing is in the way here."""

    def _settle(self, batch: Batch, said: Said) -> None:
        queue = batch.queue
        if said.is_success:
            return self._finish(batch)
        if queue.is_dropped:
            # It stays undone: whoever has the queue next gets it.
            return None
        if self._options.is_broadcasting:
            _LOG.warning(
                "messages that failed are passed over: queue %s, messages %s", queue.queue, len(batch.messages)
            )
            return self._finish(batch)
        self._settling.add(1)
        self._reading.client.begin(self._give_back(batch.messages), partial(self._given_back, batch))
        return None

    def _finish(self, batch: Batch) -> None:
        batch.queue.finish(batch)
        self._puller.wake(batch.queue)

    def _give_back(self, messages: Sequence[ReceivedMessage]) -> Operation[list[ReceivedMessage]]:
        """Gives messages back to their brokers; those that they did not take."""
        left = []
        for message in messages:
            try:
                yield from self._reading.requests.send_back(
                    message, delay_level=LEVEL_BY_RETRIES, retries_max=self._options.retries_max_for_broker
                )
            except EscrowError as error:
                _LOG.warning("a message can't be given back: message %s, error %s", message, error)
                left.append(message)
        return left

    def _given_back(self, batch: Batch, outcome: Outcome[list[ReceivedMessage]]) -> None:
        self._settling.add(-1)
        left = outcome.get()
        if not left:
            return self._finish(batch)
        for message in left:
            message.local_retries += 1
        batch.queue.keep(batch, left)
        self._reading.client.later(LOCAL_RETRY_S, partial(self._try_again, batch))
        return None

    def _try_again(self, batch: Batch) -> None:
        self._runner.submit(lambda: None if batch.queue.is_dropped else batch, self._settle)
