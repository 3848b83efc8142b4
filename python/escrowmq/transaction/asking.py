"""Questions to producers: CHECK_TRANSACTION_STATE about a copy of a half message, once that copy is on disk.

A question counts as asked when the kernel has taken its last byte. One that never left is asked again, uncounted.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import islice, takewhile
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
        # Questions that wait for the disk, and the copies that they are about.
        self._waiting: deque[Question] = deque()
        self._lined_up: set[int] = set()
        # Questions on their way, by connection and number, and which question to their producer they are.
        self._leaving: dict[tuple[int, int], tuple[Question, int]] = {}
        # Connections that have not taken what they were sent in an earlier round: nobody reads there.
        self._stuck: set[int] = set()
        self._turn = 0

    def begin_round(self) -> None:
        """Whoever has not taken the questions of the last round by now is passed over until it has."""
        self._stuck = {connection for connection, _ in self._leaving}

    def has_producer(self, group: str) -> bool:
        """Whether there is somebody to ask."""
        return bool(self._ready(group))

    def line_up(self, questions: Iterable[Question]) -> None:
        """Asks these when their copies are on disk; what waits for that already waits once."""
        fresh = [question for question in questions if question.half_offset not in self._lined_up]
        if fresh:
            self._waiting.extend(fresh)
            self._lined_up.update(question.half_offset for question in fresh)
            self._peers.tell_when_visible(fresh[-1].after)

    @property
    def is_ready(self) -> bool:
        """Whether a question may leave now."""
        return bool(self._waiting) and self._waiting[0].after <= self._source.visible_end

    def run(self) -> None:
        """Sends the questions whose copies are on disk, about those that are still pending."""
        visible_end = self._source.visible_end
        first = islice(self._waiting, SLICE_COUNT_MAX)
        ready = list(takewhile(lambda question: question.after <= visible_end, first))
        found = self._index.find([(question.half_offset, question.log_offset) for question in ready])
        for question, transaction in zip(ready, found, strict=True):
            # One that fails is asked again by the next round, and keeps no other from being asked.
            self._waiting.popleft()
            self._lined_up.discard(question.half_offset)
            if transaction is not None and transaction.state == "pending":
                self._ask(question, transaction)

    def written(self, connection: int, opaque: int) -> None:
        """A question has left: it counts as asked."""
        self._stuck.discard(connection)
        left = self._leaving.pop((connection, opaque), None)
        if left is None:
            return
        self._counters.checks_asked += 1
        question, checks = left
        (transaction,) = self._index.find([(question.half_offset, question.log_offset)])
        # A newer copy that was put back for its segment to go is no new question.
        if transaction is not None and transaction.checks == checks:
            self._index.mark_asked([transaction.half_offset])

    def closed(self, connection: int) -> None:
        """A producer is gone; what has not left by its connection was not asked."""
        self._stuck.discard(connection)
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
        self._leaving[producer.connection, opaque] = question, transaction.checks

    def _choose(self, group: str, born_host: str) -> Producer | None:
        """The one that prepared it, else another of its group, in turn."""
        ready = self._ready(group)
        if not ready:
            return None
        self._turn += 1
        others = ready[self._turn % len(ready)]
        return next((producer for producer in ready if producer.address == born_host), others)

    def _ready(self, group: str) -> list[Producer]:
        return [one for one in self._producers.producers(group) or () if one.connection not in self._stuck]
