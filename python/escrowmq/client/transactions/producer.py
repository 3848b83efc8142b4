"""The transaction producer: a message that exists if and only if a local transaction commits."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from escrowmq._core import Message
from escrowmq.client.options import DEFAULTS as CLIENT_DEFAULTS
from escrowmq.client.options import ClientOptions
from escrowmq.client.producer.options import DEFAULTS, ProducerOptions
from escrowmq.client.producer.producer import Producer
from escrowmq.client.transactions.core import TransactionListener, Verdicts, checked, no_listener
from escrowmq.client.transactions.desk import DeskCore
from escrowmq.client.transactions.scope import Scope
from escrowmq.client.transactions.sending import Local, conclude, is_safe, run_local
from escrowmq.client.transactions.values import Decision, Ended, TransactionResult
from escrowmq.errors import ServerClosed


class TransactionProducer(Producer):
    """A producer whose messages wait for local transactions. All methods may be called from any thread.

    Brokers of its topics hear of it at once, so that a process that starts again is asked what it left undecided.
    """

    def __init__(
        self,
        name_servers: str | Sequence[str],
        *,
        group: str,
        topics: Collection[str],
        listener: TransactionListener | None = None,
        options: ProducerOptions = DEFAULTS,
        client_options: ClientOptions = CLIENT_DEFAULTS,
    ) -> None:
        """Registers.

        Args:
            name_servers: Where name servers are, as `HOST:PORT`, or several with `;` between them.
            group: The producer group, which is asked about its transactions.
            topics: The topics of its messages: their brokers are to know whom to ask.
            listener: Runs local transactions, and says what became of them.
            options: How it sends.
            client_options: What it has in common with others in the process.

        Raises:
            ConfigError: An address is none.
            Unsendable: The name of the group or a topic is none.
        """
        super().__init__(name_servers, group=group, topics=topics, options=options, client_options=client_options)
        self._listener: Final = listener
        self._verdicts: Final = Verdicts()
        self._desk: Final = DeskCore(
            self._core.client,
            group,
            topics=topics,
            check=lambda half: checked(listener, self._verdicts, half),
            options=options,
        )

    def send_in_transaction(
        self, message: Message, argument: object = None, *, timeout_s: float | None = None
    ) -> TransactionResult:
        """Sends a half message, has the listener run the local transaction, and tells the broker what it came to.

        Delays of the message are dropped. A half message that is stored less safely than the broker wishes is rolled
        back, and the local transaction does not run. What the listener raises is in the result; the broker asks later.

        Args:
            message: The message.
            argument: What the listener gets beside it.
            timeout_s: How long the half message may take; that of the options, unless given.

        Raises:
            NoListener: There is none; nothing was sent.
            EscrowError: The half message is not acknowledged, as `send` says; the local transaction did not run.
        """
        if self._listener is None:
            raise no_listener(self.group)
        self._desk.used([message])
        deciding, run = self._desk.deciding, self._core.client.run
        sent, prepared = run(deciding.prepare(message, timeout_s=timeout_s))
        if is_safe(sent):
            self._verdicts.begin(prepared.transaction_id)
            local = run_local(self._listener.execute, message, argument)
        else:
            local = Local(Decision.ROLLBACK)
        timeout_s = self._core.options.send_timeout_s
        try:
            return run(conclude(deciding, self._verdicts, sent, prepared, local, timeout_s=timeout_s))
        except ServerClosed:
            # What the local transaction did stays done: whoever is next in the group is asked.
            return TransactionResult(sent, local.decision, Ended.UNREACHABLE, local.error)

    @contextmanager
    def transaction(self, *messages: Message, timeout_s: float | None = None) -> Iterator[Scope]:
        """A block: its messages are prepared before it, committed after it, and rolled back where it raises.

        After the block nothing raises but what the block did: a broker that could not be told asks, and is told then.
        Where this process ends within the block, the listener of the group's next producer is asked.

        Raises:
            NoListener: There is none to ask; nothing was sent.
            PrepareFailed: Not all messages got through; the block does not run, and there are none.
        """
        if self._listener is None:
            raise no_listener(self.group)
        self._desk.used(messages)
        run, patience_s = self._core.client.run, timeout_s or self._core.options.send_timeout_s
        scope = Scope(self._desk.deciding, self._verdicts, messages, patience_s)
        run(scope.entering())
        try:
            yield scope
        except BaseException as error:
            with suppress(ServerClosed):
                run(scope.leaving(error))
            raise
        with suppress(ServerClosed):
            run(scope.leaving(None))

    def close(self) -> None:
        """Brokers are told, and ask somebody else; the threads end with the last who shares them."""
        if not self._core.is_closed and not self._core.client.is_closed:
            self._core.client.run(self._desk.closing())
        super().close()
