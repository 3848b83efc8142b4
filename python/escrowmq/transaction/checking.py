"""Check-back: asks producers about transactions that they have not decided, again and again, and gives up at last.

    round, every interval: groups with a live producer ──▶ their pending ones, stored before the round began
    each of them: judge ──▶ wait
                        ├─▶ ask: copy n, and an op for the one it replaces: one append ──▶ a question with its offsets
                        ├─▶ ask again: copy n is there, but its question never left
                        └─▶ discard: discard record and op

What is pending for a group without producers waits and costs nothing. A round goes on in slices.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import Final

import structlog
from msgspec import Struct, field

from escrowmq import _core
from escrowmq.errors import NoRecord
from escrowmq.protocol import properties
from escrowmq.transaction.acts import Act, append_acts
from escrowmq.transaction.ages import Ages
from escrowmq.transaction.asking import Asking, Question
from escrowmq.transaction.counters import Counters
from escrowmq.transaction.decisions import Decision, Mark
from escrowmq.transaction.journal import Journal
from escrowmq.transaction.ports import Index, Records, Transaction
from escrowmq.transaction.preparing import copy_message, discarded_message
from escrowmq.transaction.ruling import CheckRules, Verdict, judge

SLICE_COUNT_MAX: Final = 64
SLICE_SIZE_MAX_BYTES: Final = 512 * 1024
SLICE_PAUSE_MS: Final = 10
"""Between two slices: requests come first, and questions do not come faster than producers can answer them."""
ROUND_MS_MAX: Final = 60_000
"""Compat: a round that takes longer ends where it is. The next one goes on there."""

WHO: Final = "check-back"

_log = structlog.get_logger()


class Round(Struct):
    """A round: when it began, the half offset that it ends at, and the groups that are left.

    The first of them has come as far as `next_half`.
    """

    began_ms: int
    to_half: int
    groups: deque[str]
    next_half: int = 0


class _Slice(Struct):
    """What a slice appends and asks."""

    acts: list[Act] = field(default_factory=list)
    again: list[Question] = field(default_factory=list)
    size_bytes: int = 0


class CheckBack:
    """A kind of the broker's background work."""

    def __init__(
        self,
        index: Index,
        records: Records,
        journal: Journal,
        asking: Asking,
        *,
        counters: Counters,
        rules: Callable[[], CheckRules],
        interval_ms: Callable[[], int],
        now_ms: Callable[[], int],
        wall_ms: Callable[[], int],
    ) -> None:
        self._index = index
        self._records = records
        self._journal = journal
        self._asking = asking
        self._counters = counters
        self._rules = rules
        self._interval_ms = interval_ms
        self._now_ms = now_ms
        self._wall_ms = wall_ms
        self._ages = Ages(journal.end, now_ms=now_ms(), wall_ms=wall_ms())
        self._round: Round | None = None
        # The last one, if it took too long.
        self._cut: Round | None = None
        self._next_round_ms = now_ms() + interval_ms()
        self._next_slice_ms = 0

    def wait_ms(self) -> float:
        """How long there is nothing to do."""
        if self._asking.is_ready:
            return 0
        due_ms = self._next_round_ms if self._round is None else self._next_slice_ms
        return max(0, due_ms - self._now_ms())

    def run(self) -> None:
        """Asks what may be asked by now, and does a slice of the round."""
        self._asking.run()
        now_ms = self._now_ms()
        if self._round is None and now_ms >= self._next_round_ms:
            self._round = self._begin(now_ms)
        if self._round is not None and now_ms >= self._next_slice_ms:
            self._next_slice_ms = now_ms + SLICE_PAUSE_MS
            self._go_on(self._round)

    def _begin(self, now_ms: int) -> Round | None:
        self._next_round_ms = now_ms + self._interval_ms()
        self._asking.begin_round()
        self._ages.mark(self._journal.end, now_ms=now_ms)
        oldest_ms = self._index.oldest_root_store_ms
        is_overdue = oldest_ms is not None and self._wall_ms() - oldest_ms > self._rules().retention_ms
        pending = self._index.pending_by_group()
        wanted = dict.fromkeys(group for group in pending if is_overdue or self._asking.has_producer(group))
        cut, self._cut = self._cut, None
        left = [] if cut is None else [group for group in cut.groups if group in wanted]
        groups = deque(dict.fromkeys([*left, *wanted]))
        if not groups:
            return None
        next_half = cut.next_half if cut is not None and groups[0] == cut.groups[0] else 0
        # What is stored from now on, copies that the round itself puts back among them, is for the next one.
        return Round(now_ms, self._journal.next_half, groups, next_half)

    def _go_on(self, current: Round) -> None:
        """Goes through some of the pending ones of the first group that is left."""
        if self._now_ms() - current.began_ms > ROUND_MS_MAX:
            self._cut, self._round = current, None
            return
        group = current.groups[0]
        pending = self._index.pending(
            group=group, from_half=current.next_half, to_half=current.to_half, count_max=SLICE_COUNT_MAX
        )
        if not self._asking.has_producer(group):
            # Nobody is asked, and the first is the oldest, but for those that were put back since.
            pending = list(takewhile(self._is_overdue, pending))
        done = self._act(pending)
        if done < len(pending):
            current.next_half = pending[done].half_offset
        elif len(pending) == SLICE_COUNT_MAX:
            current.next_half = pending[-1].half_offset + 1
        else:
            current.groups.popleft()
            current.next_half = 0
            if not current.groups:
                self._round = None

    def _act(self, pending: Sequence[Transaction]) -> int:
        """Does what is to be done with these, as far as one append goes; with how many of them."""
        plan = _Slice()
        done = 0
        for transaction, half in self._halves(pending):
            if plan.size_bytes > SLICE_SIZE_MAX_BYTES:
                break
            done += 1
            if half is not None:
                self._plan(plan, transaction, half)
        copies = []
        for act, receipt in append_acts(plan.acts, self._journal):
            if act.mark.kind is Decision.DISCARD:
                self._discarded(act.transaction)
            else:
                copies.append(receipt)
        # A question leaves when its copy is on disk, and so is the mark of the one that the copy replaces.
        self._asking.line_up(Question(copy.queue_offset, copy.log_offset, self._journal.end) for copy in copies)
        self._asking.line_up(plan.again)
        return done

    def _discarded(self, transaction: Transaction) -> None:
        self._counters.decided(Decision.DISCARD, transaction.topic)
        _log.warning("a transaction was given up", transaction=transaction.unique_id, group=transaction.group)

    def _plan(self, plan: _Slice, transaction: Transaction, half: _core.Record) -> None:
        rules, immunity = self._rules(), half.find_property(properties.CHECK_IMMUNITY)
        verdict = judge(transaction, immunity, rules, age_ms=self._age_ms(transaction))
        if verdict is Verdict.DISCARD:
            mark = Mark(Decision.DISCARD, transaction.live_half_offsets, WHO)
            plan.acts.append(Act(transaction, discarded_message(half, transaction), mark))
            plan.size_bytes += half.size_bytes
        elif verdict is Verdict.WAIT or not self._asking.has_producer(transaction.group):
            return
        elif verdict is Verdict.ASK_AGAIN:
            plan.again.append(Question(transaction.half_offset, transaction.log_offset))
        else:
            copy = copy_message(half, transaction, checks=transaction.checks + 1)
            plan.acts.append(Act(transaction, copy, Mark(None, transaction.live_half_offsets)))
            plan.size_bytes += half.size_bytes

    def _is_overdue(self, transaction: Transaction) -> bool:
        return self._age_ms(transaction) > self._rules().retention_ms

    def _age_ms(self, transaction: Transaction) -> int:
        return self._ages.of(transaction, now_ms=self._now_ms(), wall_ms=self._wall_ms())

    def _halves(self, pending: Sequence[Transaction]) -> Iterator[tuple[Transaction, _core.Record | None]]:
        for transaction in pending:
            try:
                yield transaction, self._records.record_at(transaction.log_offset)
            except NoRecord:
                # It is not visible yet: the next round asks about it.
                yield transaction, None
