"""Messages to handlers, those of a queue one after the other: what fails holds up its queue until it is done."""

import logging
import time
from collections.abc import Sequence
from functools import partial
from typing import Final

from escrowmq.client.consumer.options import PushOptions
from escrowmq.client.consumer.process_queue import Batch, ProcessQueue
from escrowmq.client.consumer.puller import Puller
from escrowmq.client.consumer.rebalancing import Reading
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.client.consumer.retry_rules import is_given_up_in_order
from escrowmq.client.consumer.running import Runner, Said, Tally
from escrowmq.client.operation import Operation, Outcome
from escrowmq.errors import EscrowError

_LOG: Final = logging.getLogger("escrowmq.client")


class InOrder:
    """Queues are handled side by side, and each of them in its order, while nobody else has it."""

    def __init__(self, reading: Reading, options: PushOptions, puller: Puller, runner: Runner) -> None:
        self._reading = reading
        self._options = options
        self._puller = puller
        self._runner = runner
        self._settling = Tally()

    @property
    def is_settling(self) -> bool:
        """Whether messages are on their way to the retry topic."""
        return bool(self._settling)

    def arrived(self, queue: ProcessQueue, _count: int) -> None:
        """Has the queue handled, if it is not."""
        self._go_on(queue)

    def unlocked(self, queue: ProcessQueue) -> None:
        """The queue is ours again."""
        self._go_on(queue)

    def _go_on(self, queue: ProcessQueue) -> None:
        while self._is_ready(queue) and queue.claim_handling():
            if self._is_ready(queue):
                self._runner.submit(partial(self._take, queue), self._settle)
                return
            # What comes in between finds the queue claimed, and is left to the second look.
            queue.release_handling()

    def _is_ready(self, queue: ProcessQueue) -> bool:
        return queue.has_waiting and not queue.is_dropped and self._is_ours(queue)

    def _is_ours(self, queue: ProcessQueue) -> bool:
        return self._reading.locks is None or self._reading.locks.has(queue.queue)

    def _take(self, queue: ProcessQueue) -> Batch | None:
        # The lock may have expired while it waited for a thread.
        batch = queue.take(self._options.batch_max) if self._is_ours(queue) else None
        if batch is None:
            queue.release_handling()
        return batch

    def _settle(self, batch: Batch, said: Said) -> None:
        queue = batch.queue
        if said.is_success:
            queue.finish(batch)
            return self._release(queue)
        if queue.is_dropped:
            queue.give_back(batch)
            return self._release(queue)
        given_up = [message for message in batch.messages if is_given_up_in_order(message, self._options.retries_max)]
        if not given_up:
            return self._suspend(batch)
        self._settling.add(1)
        self._reading.client.begin(self._give_up(given_up), partial(self._given_up, batch))
        return None

    def _give_up(self, messages: Sequence[ReceivedMessage]) -> Operation[list[ReceivedMessage]]:
        """Sends messages to the retry topic, where the broker makes dead letters of them; those that it took."""
        gone = []
        for message in messages:
            try:
                yield from self._reading.requests.send_to_retry(
                    message, retries_max=self._options.retries_max_for_broker, now_ms=time.time_ns() // 1_000_000
                )
            except EscrowError as error:
                _LOG.warning("a message can't be given up: message %s, error %s", message, error)
            else:
                gone.append(message)
        return gone

    def _given_up(self, batch: Batch, outcome: Outcome[list[ReceivedMessage]]) -> None:
        self._settling.add(-1)
        gone = outcome.get()
        left = [message for message in batch.messages if message not in gone]
        if left:
            batch.queue.keep(batch, left)
            return self._suspend(batch)
        batch.queue.finish(batch)
        return self._release(batch.queue)

    def _suspend(self, batch: Batch) -> None:
        """The messages wait at the head of their queue, and are tried again after a while."""
        for message in batch.messages:
            message.local_retries += 1
        batch.queue.give_back(batch)
        self._reading.client.later(self._options.suspend_s, partial(self._release, batch.queue))

    def _release(self, queue: ProcessQueue) -> None:
        queue.release_handling()
        if queue.is_dropped:
            self._reading.client.begin(self._hand_over(queue), _ignore)
            return
        self._puller.wake(queue)
        self._go_on(queue)

    def _hand_over(self, queue: ProcessQueue) -> Operation[None]:
        """Another member has to begin behind what was done here after the queue was lost."""
        try:
            if not self._options.is_broadcasting:
                yield from self._reading.requests.commit(queue.queue, queue.offset_to_commit())
        except EscrowError as error:
            _LOG.warning("an offset is not stored: queue %s, error %s", queue.queue, error)
        if self._reading.locks is not None:
            yield from self._reading.locks.release([queue.queue])


def _ignore(_: Outcome[None]) -> None:
    """Nobody waits for it."""
