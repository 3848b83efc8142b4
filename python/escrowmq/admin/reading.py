"""Reads the queues of a topic without a group: nothing is committed, and nobody else notices.

Each queue has a cursor, which shows what it has pulled and not handed out yet. What is there at the moment comes in the
order in which it was stored, so a message is handed out when every queue that is not done has shown its next. What
arrives later comes as it arrives: each cursor leaves a pull with its broker, which answers when there is something.
"""

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from msgspec import Struct, field

from escrowmq._core import Record
from escrowmq.admin import requests
from escrowmq.admin.client import Admin, Outcome, expect, judge, reading_address
from escrowmq.admin.messages import PULLED, FoundMessage, found_message, records_of
from escrowmq.model import names
from escrowmq.model.place import Place
from escrowmq.model.subscription import ALL_TAGS, SQL92, TAG
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.pull_message import PullAnswer
from escrowmq.protocol.headers.search_offset import OffsetAnswer, SearchOffset
from escrowmq.protocol.properties import TAGS
from escrowmq.protocol.question import Question
from escrowmq.protocol.request_codes import RequestCode

WAIT_MAX_MS: Final = 15_000
PATIENCE_S: Final = 60.0
"""How long a broker may be silent that waits for messages; it answers after `WAIT_MAX_MS` at the latest."""


class Selection(Struct, frozen=True, kw_only=True):
    """Which messages of a topic are wanted. No tags mean all; an SQL92 expression is for the broker to judge."""

    topic: str
    begin: Place = "earliest"
    end_ms: int | None = None
    tags: tuple[str, ...] = ()
    sql: str = ""

    @property
    def expression(self) -> str:
        """What the broker filters by."""
        return self.sql or " || ".join(self.tags) or ALL_TAGS

    def is_over(self, record: Record) -> bool:
        """Whether a message, and all behind it in its queue, came too late."""
        return self.end_ms is not None and record.store_timestamp_ms > self.end_ms

    def wants(self, record: Record) -> bool:
        """Whether a message that the broker sent is wanted. It goes by hashes of tags, and by roughly the time."""
        is_early = isinstance(self.begin, int) and record.store_timestamp_ms < self.begin
        has_tag = not self.tags or record.find_property(TAGS) in self.tags
        return has_tag and not is_early and not self.is_over(record)


class _Cursor(Struct):
    broker: str
    address: str
    queue_id: int
    next_offset: int
    end_offset: int
    shown: deque[Record] = field(default_factory=deque)

    @property
    def is_done(self) -> bool:
        """Whether all up to its end is pulled."""
        return self.next_offset >= self.end_offset

    def pull(self, selection: Selection, *, wait_max_ms: int = 0) -> Question:
        return requests.pull(
            selection.topic,
            self.queue_id,
            self.next_offset,
            group=names.TOOLS_GROUP,
            expression=selection.expression,
            expression_type=SQL92 if selection.sql else TAG,
            wait_max_ms=wait_max_ms,
        )

    def take(self, outcome: Outcome, selection: Selection) -> None:
        """Moves on by what a pull was answered with."""
        answer = expect(outcome)
        found = records_of(answer)
        self.shown += [record for record in found if selection.wants(record)]
        self.next_offset = decode_header(PullAnswer, answer.ext_fields).next_offset
        if any(map(selection.is_over, found)):
            self.end_offset = self.next_offset


def read_topic(admin: Admin, selection: Selection) -> Iterator[FoundMessage]:
    """The messages that are there at the moment, in the order in which they were stored.

    Raises:
        NotThere: There is no such topic.
    """
    cursors = _cursors(admin, selection)
    while True:
        empty = [cursor for cursor in cursors if not cursor.shown and not cursor.is_done]
        if empty:
            _pull_all(admin, empty, selection)
            continue
        ready = [cursor for cursor in cursors if cursor.shown]
        if not ready:
            return
        first = min(ready, key=lambda cursor: cursor.shown[0].store_timestamp_ms)
        yield found_message(first.shown.popleft(), first.broker)


def follow_topic(admin: Admin, selection: Selection) -> Iterator[FoundMessage]:
    """The messages from the beginning of the selection on, and then those that arrive, for ever.

    Raises:
        NotThere: There is no such topic.
    """
    waiting: dict[int, tuple[_Cursor, Question]] = {}
    idle = _cursors(admin, selection)
    while True:
        for cursor in idle:
            question = cursor.pull(selection, wait_max_ms=WAIT_MAX_MS)
            waiting[admin.connections.begin(cursor.address, question)] = (cursor, question)
        idle = []
        for number, reply in admin.connections.first_replies(list(waiting), patience_s=PATIENCE_S).items():
            cursor, question = waiting.pop(number)
            cursor.take(judge(cursor.address, question, reply, accepted=PULLED), selection)
            idle.append(cursor)
        arrived = [(record, cursor.broker) for cursor in idle for record in cursor.shown]
        for cursor in idle:
            cursor.shown.clear()
        yield from (found_message(*one) for one in sorted(arrived, key=lambda one: one[0].store_timestamp_ms))


def _pull_all(admin: Admin, cursors: Sequence[_Cursor], selection: Selection) -> None:
    questions = [(cursor.address, cursor.pull(selection)) for cursor in cursors]
    for cursor, outcome in zip(cursors, admin.ask_all(questions, accepted=PULLED), strict=True):
        before = cursor.next_offset
        cursor.take(outcome, selection)
        # A queue that does not move on has no more, whatever it said before.
        if cursor.next_offset <= before:
            cursor.end_offset = cursor.next_offset


def _cursors(admin: Admin, selection: Selection) -> list[_Cursor]:
    """A cursor for each queue, at the beginning of the selection."""
    route = admin.route(selection.topic)
    addresses = {broker.name: reading_address(broker) for broker in route.brokers}
    queues = [
        (data.broker_name, addresses[data.broker_name], queue_id)
        for data in sorted(route.queues, key=lambda data: data.broker_name)
        for queue_id in range(data.read_queues)
    ]
    begins = _offsets(admin, selection.topic, queues, selection.begin)
    ends = _offsets(admin, selection.topic, queues, "latest")
    return [_Cursor(*queue, begin, end) for queue, begin, end in zip(queues, begins, ends, strict=True)]


def _offsets(admin: Admin, topic: str, queues: Collection[tuple[str, str, int]], place: Place) -> list[int]:
    """The offset of a place in each queue."""
    code = {"earliest": RequestCode.GET_MIN_OFFSET, "latest": RequestCode.GET_MAX_OFFSET}.get(
        str(place), RequestCode.SEARCH_OFFSET_BY_TIMESTAMP
    )
    time_ms = place if isinstance(place, int) else 0
    questions = [(address, Question(code, SearchOffset(topic, queue_id, time_ms))) for _, address, queue_id in queues]
    answers = map(expect, admin.ask_all(questions))
    return [decode_header(OffsetAnswer, answer.ext_fields).offset for answer in answers]
