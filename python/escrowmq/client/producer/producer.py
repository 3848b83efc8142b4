"""The producer: sends messages from any thread."""

from collections.abc import Collection, Sequence
from datetime import datetime
from types import TracebackType
from typing import Final, Self

from escrowmq._core import Message
from escrowmq.client.options import DEFAULTS as CLIENT_DEFAULTS
from escrowmq.client.options import ClientOptions
from escrowmq.client.producer.core import ProducerCore, later_properties
from escrowmq.client.producer.options import DEFAULTS, ProducerOptions
from escrowmq.client.producer.queue_choice import Selector
from escrowmq.client.producer.results import SendResult
from escrowmq.model.message_queue import MessageQueue


class Producer:
    """Sends messages. Use it as a context manager; all methods may be called from any thread.

    One producer is enough for a process: it sends as many messages at a time as threads call it.
    """

    def __init__(
        self,
        name_servers: str | Sequence[str],
        *,
        group: str,
        topics: Collection[str] = (),
        options: ProducerOptions = DEFAULTS,
        client_options: ClientOptions = CLIENT_DEFAULTS,
    ) -> None:
        """Registers; name servers and brokers are asked in the background.

        Args:
            name_servers: Where name servers are, as `HOST:PORT`, or several with `;` between them.
            group: The producer group.
            topics: Topics whose brokers are to know of it before anything is sent.
            options: How it sends.
            client_options: What it has in common with others in the process; the same options share threads.

        Raises:
            ConfigError: An address is none.
            Unsendable: The name of the group or a topic is none.
        """
        self._core: Final = ProducerCore(
            name_servers, group=group, topics=topics, options=options, client_options=client_options
        )

    @property
    def group(self) -> str:
        """The producer group."""
        return self._core.group

    @property
    def client_id(self) -> str:
        """Who this process is to brokers."""
        return self._core.client.client_id

    def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selector | None = None,
        sharding_key: str | None = None,
        delay_level: int | None = None,
        delay_s: float | None = None,
        deliver_at: datetime | None = None,
        timeout_s: float | None = None,
    ) -> SendResult:
        """Sends a message and returns when a broker has stored it.

        Args:
            message: The message.
            queue: Where it goes; else each queue in its turn. A queue that is chosen is the only one that is tried.
            selector: Chooses among the queues.
            sharding_key: Messages of one key go to one queue, as long as there are as many.
            delay_level: Delivers it later: a level of RocketMQ's, 1 for a second to 18 for two hours.
            delay_s: Delivers it after so long.
            deliver_at: Delivers it then.
            timeout_s: How long it may take with all tries; that of the options, unless given.

        Raises:
            Unsendable: No broker would take it.
            NotThere: There is no such topic, and no broker makes new ones.
            NoQueue: The topic's brokers take no messages now.
            Refused: The broker does not want it; the message says why.
            SendFailed: All tries failed; a broker that did not answer may have it all the same.
            ServerClosed: The producer was closed.
        """
        later = later_properties(delay_level=delay_level, delay_s=delay_s, deliver_at=deliver_at)
        return self._core.client.run(
            self._core.send(
                message,
                queue=queue,
                selector=selector,
                sharding_key=sharding_key,
                later=later,
                timeout_s=timeout_s,
            )
        )

    def send_many(
        self, messages: Sequence[Message], *, queue: MessageQueue | None = None, timeout_s: float | None = None
    ) -> SendResult:
        """Sends messages of one topic in one request: all are stored, in one queue, or none. Raises as `send`."""
        return self._core.client.run(self._core.send_many(messages, queue=queue, timeout_s=timeout_s))

    def send_one_way(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selector | None = None,
        sharding_key: str | None = None,
    ) -> None:
        """Sends a message and does not wait: nobody learns whether it arrives. Raises what is known before."""
        self._core.client.run(
            self._core.send_one_way(message, queue=queue, selector=selector, sharding_key=sharding_key)
        )

    def queues(self, topic: str) -> list[MessageQueue]:
        """The queues of a topic that may be written to.

        Raises:
            NotThere: There is no such topic, and no broker makes new ones.
        """
        return self._core.client.run(self._core.queues(topic))

    def recall(self, topic: str, recall_handle: str) -> str:
        """Takes a message back that was sent for later; its id.

        Raises:
            Refused: It was delivered already, or the handle is none.
        """
        return self._core.client.run(self._core.recall(topic, recall_handle))

    def close(self) -> None:
        """Brokers are told; the threads end with the last who shares them. Again, it does nothing."""
        if self._core.is_closed:
            return
        try:
            if not self._core.client.is_closed:
                self._core.client.run(self._core.closing())
        finally:
            self._core.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
