"""Questions to producers: CHECK_TRANSACTION_STATE about a copy of a half message, once that copy is on disk.

A question counts as asked when the kernel has taken its last byte. One that never left is asked again, uncounted.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from msgspec import Struct

from escrowmq.errors import NoRecord
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.transaction.counters import Counters
from escrowmq.transaction.ports import Index, Producer, Producers, Records, Transaction
from escrowmq.transaction.topics import HALF_TOPIC

SLICE_COUNT_MAX: Final = 64


class Peers(Protocol):
    """The way to producers, and who wakes us: `escrowmq._core.BrokerServer`, or a test's own."""

    def send(
        self,
        connection: int,
        code: int,
        *,
        ext_fields: Mapping[str, str] | None = None,
        body: bytes | None = None,
        tells_when_written: bool = False,
    ) -> int:
        """Sends a one-way request, and has it told when it has left; returns its number."""

    def tell_when_visible(self, log_offset: int) -> None:
        """Wakes us when the log is visible up to there."""


class Source(Records, Protocol):
    """Records, and how far they are visible: `escrowmq._core.Store`, or a test's own."""

    @property
    def visible_end(self) -> int:
        """The log offset up to which messages are in their queues; in sync mode they are durable too."""


class Question(Struct, frozen=True):
    """A question about a copy, that may leave when the log is visible up to `after`."""

    half_offset: int
    log_offset: int
    after: int = 0


class Asking:
    """Questions that wait for the disk, and those on their way."""

    def __init__(
        self,
        index: Index,
        source: Source,
        *,
        producers: Producers,
        peers: Peers,
        counters: Counters,
        broker_name: str,
    ) -> None:
        self._index = index
        self._source = source
        self._producers = producers
        self._peers = peers
        self._counters = counters
        self._broker_name = broker_name
        self._waiting: deque[Question] = deque()
        # Questions on their way, by connection and number: the copies that they are about.
        self._leaving: dict[tuple[int, int], int] = {}
        self._turn = 0

    def has_producer(self, group: str) -> bool:
        """Whether there is somebody to ask."""
        return bool(self._producers.producers(group))

    def line_up(self, questions: Iterable[Question]) -> None:
        """Asks these when their copies are on disk."""
        before = len(self._waiting)
        self._waiting.extend(questions)
        if len(self._waiting) > before:
            self._peers.tell_when_visible(self._waiting[-1].after)

    @property
    def is_ready(self) -> bool:
        """Whether a question may leave now."""
        return bool(self._waiting) and self._waiting[0].after <= self._source.visible_end

    def run(self) -> None:
        """Sends the questions whose copies are on disk, about those that are still pending."""
        ready: list[Question] = []
        while self.is_ready and len(ready) < SLICE_COUNT_MAX:
            ready.append(self._waiting.popleft())
        found = self._index.find([(question.half_offset, question.log_offset) for question in ready])
        for question, transaction in zip(ready, found, strict=True):
            if transaction is not None and transaction.state == "pending":
                self._ask(question, transaction)

    def written(self, connection: int, opaque: int) -> None:
        """A question has left: it counts as asked."""
        half_offset = self._leaving.pop((connection, opaque), None)
        if half_offset is not None:
            self._counters.checks_asked += 1
            self._index.mark_asked([half_offset])

    def closed(self, connection: int) -> None:
        """A producer is gone; what has not left by its connection was not asked."""
        for ticket in [ticket for ticket in self._leaving if ticket[0] == connection]:
            del self._leaving[ticket]

    def _ask(self, question: Question, transaction: Transaction) -> None:
        try:
            half = self._source.record_at(question.log_offset)
        except NoRecord:
            # It was put back since, for its segment to go.
            return
        producer = self._choose(transaction.group, half.born_host)
        if producer is None:
            return
        opaque = self._peers.send(
            producer.connection,
            RequestCode.CHECK_TRANSACTION_STATE,
            ext_fields={
                "topic": HALF_TOPIC,
                "tranStateTableOffset": str(question.half_offset),
                "commitLogOffset": str(question.log_offset),
                "msgId": transaction.unique_id,
                "transactionId": transaction.unique_id,
                "offsetMsgId": half.offset_message_id,
                "bname": self._broker_name,
            },
            body=half.moved(transaction.topic, transaction.queue_id),
            tells_when_written=True,
        )
        self._leaving[producer.connection, opaque] = question.half_offset

    def _choose(self, group: str, born_host: str) -> Producer | None:
        """The one that prepared it, else another of its group, in turn."""
        live = list(self._producers.producers(group) or ())
        if not live:
            return None
        self._turn += 1
        others = live[self._turn % len(live)]
        return next((producer for producer in live if producer.address == born_host), others)
