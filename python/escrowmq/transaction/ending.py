"""END_TRANSACTION in batches: looks up what each names, has `ruling` say what it comes to, and appends that.

    ends ──▶ index: which transaction ──▶ ruling ──▶ final records, op record, audit records: one append ──▶ index

A decision counts from the moment of its append, for every copy; its answer waits until it is durable.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import structlog
from msgspec import Struct

from escrowmq import _core
from escrowmq.errors import BadMessage, NoRecord
from escrowmq.protocol import properties
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.transaction.auditing import Audited, Contradiction, WrittenDown, audit_message
from escrowmq.transaction.counters import Counters
from escrowmq.transaction.decisions import Decision, Mark, op_messages
from escrowmq.transaction.forgotten import forgotten
from escrowmq.transaction.journal import Journal
from escrowmq.transaction.ports import Index, Later, Records, State, Transaction, Waiting
from escrowmq.transaction.preparing import final_message, waiting_message
from escrowmq.transaction.ruling import End, Ruling, rule_on_end
from escrowmq.transaction.topics import HALF_TOPIC

# The fast lane appends too, and waits while a batch is copied into the log.
APPEND_SIZE_MAX_BYTES: Final = 1024 * 1024
# Each has queues and the key index looked through; whoever repeats so many decisions of long ago can wait.
FORGOTTEN_COUNT_MAX: Final = 64

_WRONG_GROUP: Final = "The producer group wrong"

_log = structlog.get_logger()


class Settled(Struct, frozen=True):
    """The answer to an END; it may go out when the log is durable up to `end_offset`."""

    code: ResponseCode = ResponseCode.SUCCESS
    remark: str | None = None
    end_offset: int = 0


class _Plan(Struct):
    """What one END comes to, and what it wants appended."""

    settled: Settled
    ruling: Ruling | None = None
    final: _core.Message | None = None
    mark: Mark | None = None
    audit: _core.Message | None = None
    size_bytes: int = 0
    root: int | None = None
    topic: str = ""
    born_ms: int = 0
    waiting: Waiting | None = None
    contradiction: Contradiction | None = None


class _WrongEnd(Exception):
    """An END that names no half message of its group; remarks are RocketMQ's."""


class Ending:
    """Decides transactions. Only one thread uses it."""

    def __init__(
        self, index: Index, records: Records, journal: Journal, counters: Counters, *, later: Later | None = None
    ) -> None:
        self._index = index
        self._records = records
        self._journal = journal
        self._counters = counters
        self._later = later
        self._written_down = WrittenDown()
        self._forgotten_left = FORGOTTEN_COUNT_MAX

    def end(self, ends: Sequence[End]) -> list[Settled]:
        """Decides what these ask for, in their order."""
        self._forgotten_left = FORGOTTEN_COUNT_MAX
        return [settled for part in self._parts(ends) for settled in part]

    def _parts(self, ends: Sequence[End]) -> Iterator[list[Settled]]:
        """In parts that are quickly copied. What a part has decided, the next one finds decided."""
        rest = list(ends)
        while rest:
            plans = self._plan(rest)
            rest = rest[len(plans) :]
            yield self._append(plans)

    def _plan(self, ends: Sequence[End]) -> list[_Plan]:
        """What the first of them come to, as many as one append takes."""
        found = self._index.find([(end.half_offset, end.log_offset) for end in ends])
        decided: dict[int, State] = {}
        plans: list[_Plan] = []
        size_bytes = 0
        for end, transaction in zip(ends, found, strict=True):
            plan = self._plan_one(end, transaction, decided)
            size_bytes += plan.size_bytes
            plans.append(plan)
            if size_bytes > APPEND_SIZE_MAX_BYTES:
                break
        return plans

    def _plan_one(self, end: End, transaction: Transaction | None, decided: dict[int, State]) -> _Plan:
        """`decided` says what this batch has decided so far, by root."""
        try:
            if transaction is None:
                return self._forgotten(end)
            return self._rule(end, transaction, decided)
        except _WrongEnd as error:
            return _Plan(Settled(ResponseCode.SYSTEM_ERROR, str(error)))

    def _rule(self, end: End, transaction: Transaction, decided: dict[int, State]) -> _Plan:
        if transaction.group != end.group:
            raise _WrongEnd(_WRONG_GROUP)
        self._counters.checks_answered += end.is_from_check
        decision = end.decision
        if decision is None:
            return _Plan(Settled())
        root = transaction.root_log_offset
        state = decided.get(root, transaction.state)
        ruling = rule_on_end(decision, state)
        if ruling is Ruling.CONTRADICTION:
            plan = self._contradiction(end, decision, transaction, state)
            # What it contradicts may be lost to a power failure as long as it is not durable.
            remark = f"the transaction is {state.replace('_', ' ')} already"
            plan.settled = Settled(ResponseCode.ILLEGAL_OPERATION, remark, transaction.decision_end)
            return plan
        if ruling is Ruling.REPEAT:
            return _Plan(Settled(end_offset=transaction.decision_end), ruling, root=root)
        plan = _Plan(Settled(), ruling, mark=Mark(decision, transaction.live_half_offsets, end.who), root=root)
        plan.topic = transaction.topic
        if end.is_forced:
            plan.audit = audit_message("forced", transaction, decision, state=state, who=end.who)
        if decision is Decision.COMMIT:
            half = self._half(end.log_offset, transaction.log_offset)
            plan.waiting = self._waiting(half, transaction)
            if plan.waiting is not None:
                plan.final = waiting_message(half, plan.waiting)
            else:
                plan.final = final_message(half, topic=transaction.topic, queue_id=transaction.queue_id)
            plan.size_bytes, plan.born_ms = half.size_bytes, half.born_timestamp_ms
        decided[root] = decision.state
        return plan

    def _waiting(self, half: _core.Record, transaction: Transaction) -> Waiting | None:
        if self._later is None:
            return None
        return self._later.waiting(half, topic=transaction.topic, queue_id=transaction.queue_id)

    def _contradiction(self, end: End, decision: Decision, transaction: Audited, state: State) -> _Plan:
        self._counters.contradictions += 1
        _log.warning(
            "a decision contradicts the first one",
            transaction=transaction.unique_id,
            group=transaction.group,
            state=state,
            wanted=decision.state,
            who=end.who,
        )
        remark = "the transaction was decided otherwise long ago"
        plan = _Plan(Settled(ResponseCode.ILLEGAL_OPERATION, remark), Ruling.CONTRADICTION)
        contradiction = (transaction.root_log_offset, decision)
        if contradiction not in self._written_down:
            plan.contradiction = contradiction
            plan.audit = audit_message("contradiction", transaction, decision, state=state, who=end.who)
        return plan

    def _forgotten(self, end: End) -> _Plan:
        """What the index does not list was decided long ago, or never was: the log tells."""
        half = self._half(end.log_offset)
        if half.find_property(properties.PRODUCER_GROUP) != end.group:
            raise _WrongEnd(_WRONG_GROUP)
        if half.queue_offset != end.half_offset:
            raise _WrongEnd("The transaction state table offset wrong")
        if end.decision is None:
            return _Plan(Settled())
        if self._forgotten_left == 0:
            return _Plan(Settled(ResponseCode.SYSTEM_BUSY, "too many decisions about transactions of long ago"))
        self._forgotten_left -= 1
        found = forgotten(half, self._records)
        if rule_on_end(end.decision, found.state) is Ruling.REPEAT:
            return _Plan(Settled())
        return self._contradiction(end, end.decision, found, found.state)

    def _half(self, *log_offsets: int) -> _core.Record:
        """The half message at the first of these places that still has one: a copy may have left with its segment."""
        for log_offset in log_offsets:
            try:
                half = self._records.record_at(log_offset) if log_offset >= 0 else None
            except NoRecord:
                continue
            if half is not None and half.topic == HALF_TOPIC:
                return half
        raise _WrongEnd("Find prepared transaction message failed")

    def _append(self, plans: Sequence[_Plan]) -> list[Settled]:
        """Appends what all of them want at once: finals, then the op records of all decisions, then audit records."""
        finals = [plan.final for plan in plans if plan.final is not None]
        ops = op_messages(plan.mark for plan in plans if plan.mark is not None)
        # A contradiction that comes twice is written down once.
        audits = {plan.contradiction or place: plan.audit for place, plan in enumerate(plans) if plan.audit is not None}
        messages = [*finals, *ops, *audits.values()]
        if not messages:
            return [plan.settled for plan in plans]
        try:
            receipts = self._journal.append(messages, uses_reserve=True)
        except BadMessage as error:
            if error.index >= len(finals):
                raise
            bad = [plan for plan in plans if plan.final is not None][error.index]
            refused = _Plan(Settled(ResponseCode.MESSAGE_ILLEGAL, f"the message is illegal: {error}"))
            # Whoever repeats it in this batch repeats what was not done.
            return self._append([refused if plan.root == bad.root else plan for plan in plans])
        self._tell_later(plans, receipts)
        self._written_down.add(plan.contradiction for plan in plans if plan.contradiction is not None)
        last = receipts[-1]
        for plan in plans:
            self._count(plan, last.store_timestamp_ms)
        decided = Settled(end_offset=last.end_offset)
        return [self._settled(plan, decided) for plan in plans]

    def _tell_later(self, plans: Sequence[_Plan], receipts: Sequence[_core.Receipt]) -> None:
        # The finals come first, in the order of their plans.
        with_final = (plan for plan in plans if plan.final is not None)
        for plan, receipt in zip(with_final, receipts, strict=False):
            if plan.waiting is not None and self._later is not None:
                self._later.appended(plan.waiting, receipt)

    def _count(self, plan: _Plan, stored_ms: int) -> None:
        if plan.ruling is Ruling.DECIDE and plan.mark is not None and plan.mark.kind is not None:
            self._counters.decided(plan.mark.kind, plan.topic)
            if plan.final is not None:
                self._counters.delivered(plan.topic, age_ms=stored_ms - plan.born_ms)

    @staticmethod
    def _settled(plan: _Plan, decided: Settled) -> Settled:
        """`decided` is how all are settled that the append has decided."""
        if plan.ruling is None or (plan.settled.end_offset and plan.audit is None):
            return plan.settled
        if plan.settled.code == decided.code:
            return decided
        return Settled(plan.settled.code, plan.settled.remark, decided.end_offset)
