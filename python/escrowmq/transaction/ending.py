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
from escrowmq.transaction.auditing import audit_message
from escrowmq.transaction.counters import Counters
from escrowmq.transaction.decisions import Decision, Mark, op_messages
from escrowmq.transaction.journal import Journal
from escrowmq.transaction.ports import Index, Records, State, Transaction
from escrowmq.transaction.preparing import TRANSACTION_BITS, final_message
from escrowmq.transaction.ruling import End, Ruling, rule_on_end
from escrowmq.transaction.topics import HALF_TOPIC

# The fast lane appends too, and waits while a batch is copied into the log.
APPEND_SIZE_MAX_BYTES: Final = 1024 * 1024
# A producer that contradicts itself for ever fills the log with nothing but its first contradictions.
AUDITED_MAX: Final = 10_000

_WRONG_GROUP: Final = "The producer group wrong"
_COMMITTED: Final = 0x8

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


class _WrongEnd(Exception):
    """An END that names no half message of its group; remarks are RocketMQ's."""


class Ending:
    """Decides transactions. Only one thread uses it."""

    def __init__(self, index: Index, records: Records, journal: Journal, counters: Counters) -> None:
        self._index = index
        self._records = records
        self._journal = journal
        self._counters = counters
        self._audited: set[tuple[int, Decision]] = set()

    def end(self, ends: Sequence[End]) -> list[Settled]:
        """Decides what these ask for, in their order."""
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
            return self._contradiction(end, decision, transaction, state)
        if ruling is Ruling.REPEAT:
            return _Plan(Settled(end_offset=transaction.decision_end), ruling, root=root)
        plan = _Plan(Settled(), ruling, mark=Mark(decision, transaction.live_half_offsets, end.who), root=root)
        plan.topic = transaction.topic
        if end.is_forced:
            plan.audit = audit_message("forced", transaction, decision, state=state, who=end.who)
        if decision is Decision.COMMIT:
            half = self._half(end.log_offset, transaction.log_offset)
            plan.final = final_message(half, topic=transaction.topic, queue_id=transaction.queue_id)
            plan.size_bytes, plan.born_ms = half.size_bytes, half.born_timestamp_ms
        decided[root] = decision.state
        return plan

    def _contradiction(self, end: End, decision: Decision, transaction: Transaction, state: State) -> _Plan:
        self._counters.contradictions += 1
        _log.warning(
            "a decision contradicts the first one",
            transaction=transaction.unique_id,
            group=transaction.group,
            state=state,
            wanted=decision.state,
            who=end.who,
        )
        audit = None
        seen = (transaction.root_log_offset, decision)
        if seen not in self._audited and len(self._audited) < AUDITED_MAX:
            self._audited.add(seen)
            audit = audit_message("contradiction", transaction, decision, state=state, who=end.who)
        remark = f"the transaction is {state.replace('_', ' ')} already"
        # What it contradicts may be lost to a power failure as long as it is not durable.
        settled = Settled(ResponseCode.ILLEGAL_OPERATION, remark, transaction.decision_end)
        return _Plan(settled, Ruling.CONTRADICTION, audit=audit)

    def _forgotten(self, end: End) -> _Plan:
        """What the index does not list was decided long ago, or never was: the log tells."""
        half = self._half(end.log_offset)
        if half.find_property(properties.PRODUCER_GROUP) != end.group:
            raise _WrongEnd(_WRONG_GROUP)
        if half.queue_offset != end.half_offset:
            raise _WrongEnd("The transaction state table offset wrong")
        if end.decision is None:
            return _Plan(Settled())
        state: State = "committed" if self._has_final(half, end.group) else "closed"
        if rule_on_end(end.decision, state) is Ruling.REPEAT:
            return _Plan(Settled())
        self._counters.contradictions += 1
        return _Plan(Settled(ResponseCode.ILLEGAL_OPERATION, "the transaction was decided otherwise long ago"))

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

    def _has_final(self, half: _core.Record, group: str) -> bool:
        topic, unique_id = half.find_property(properties.REAL_TOPIC), half.unique_id
        return any(
            record.sys_flag & TRANSACTION_BITS == _COMMITTED
            and record.find_property(properties.PRODUCER_GROUP) == group
            for record in self._records.find_by_key(topic or "", unique_id or "")
        )

    def _append(self, plans: Sequence[_Plan]) -> list[Settled]:
        """Appends what all of them want at once: finals, then the op records of all decisions, then audit records."""
        finals = [plan.final for plan in plans if plan.final is not None]
        ops = op_messages(plan.mark for plan in plans if plan.mark is not None)
        audits = [plan.audit for plan in plans if plan.audit is not None]
        messages = [*finals, *ops, *audits]
        if not messages:
            return [plan.settled for plan in plans]
        try:
            receipts = self._journal.append(messages)
        except BadMessage as error:
            if error.index >= len(finals):
                raise
            bad = [plan for plan in plans if plan.final is not None][error.index]
            refused = _Plan(Settled(ResponseCode.MESSAGE_ILLEGAL, f"the message is illegal: {error}"))
            # Whoever repeats it in this batch repeats what was not done.
            return self._append([refused if plan.root == bad.root else plan for plan in plans])
        last = receipts[-1]
        for plan in plans:
            self._count(plan, last.store_timestamp_ms)
        decided = Settled(end_offset=last.end_offset)
        return [self._settled(plan, decided) for plan in plans]

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
