"""The room of transactions against plain dictionaries, while everything that can go wrong does."""

import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.unit.transaction import seed_scan
from tests.unit.transaction.room_desk import GROUP, INTERVAL_MS, TOPIC, Crash, Place, RoomDesk, places

from escrowmq import _core
from escrowmq.protocol import properties
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.ports import State
from escrowmq.transaction.resuming import resume
from escrowmq.transaction.topics import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from escrowmq.transaction.upkeep import put_back_before

DECISIONS = some.sampled_from([Decision.COMMIT, Decision.ROLLBACK, None])
PICKS = some.integers(0, 1_000)
RECORDS = some.integers(0, 4)


@dataclass
class Model:
    """A transaction: where its copies are, what became of it, and how many questions about it have left."""

    name: str
    places: list[Place]
    state: State = "pending"
    questions: int = 0
    # After a crash: what it may be now, until the log is looked at.
    may_be: set[State] = field(default_factory=set)


class TransactionsModel(RuleBasedStateMachine):
    """Producers come and go, answers are lost, processes die between two writes, an Apache broker has a turn."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="escrowmq-"))
        self.room = RoomDesk(self.folder)
        self.known: list[Model] = []
        self.asked: list[tuple[Model, Place]] = []

    def teardown(self) -> None:
        self.room.close()
        shutil.rmtree(self.folder)

    def pick(self, number: int, state: State | None = None) -> Model | None:
        found = [model for model in self.known if state in (None, model.state)]
        return found[number % len(found)] if found else None

    @rule()
    def prepare(self) -> None:
        name = f"T{len(self.known)}"
        self.known.append(Model(name, [self.room.prepare(name)]))

    @rule(number=PICKS, copy=PICKS, decision=DECISIONS)
    def end(self, number: int, copy: int, decision: Decision | None) -> None:
        """Any decision, late, twice, in any order, from any copy."""
        model = self.pick(number)
        if model is None:
            return
        settled = self.room.end(model.places[copy % len(model.places)], decision)
        if decision is None:
            assert settled.code == ResponseCode.SUCCESS
        elif model.state == "pending":
            assert settled.code == ResponseCode.SUCCESS
            model.state = decision.state
        else:
            agrees = (decision is Decision.COMMIT) == (model.state == "committed")
            assert settled.code == (ResponseCode.SUCCESS if agrees else ResponseCode.ILLEGAL_OPERATION)

    @rule(number=PICKS, decision=DECISIONS, shift=some.sampled_from([-1, 1, 1 << 40]))
    def end_with_wrong_offsets(self, number: int, decision: Decision | None, shift: int) -> None:
        model = self.pick(number)
        if model is not None:
            place = model.places[0]
            wrong = Place(place.half_offset + shift, place.log_offset)
            assert self.room.end(wrong, decision).code == ResponseCode.SYSTEM_ERROR

    @rule(number=PICKS, decision=DECISIONS)
    def end_of_another_group(self, number: int, decision: Decision | None) -> None:
        model = self.pick(number)
        if model is not None:
            settled = self.room.end(model.places[0], decision, group="another")
            assert settled.remark == "The producer group wrong"

    @rule(number=PICKS, decision=DECISIONS, records=RECORDS)
    def die_while_deciding(self, number: int, decision: Decision | None, records: int) -> None:
        model = self.pick(number, "pending")
        if model is None or decision is None:
            return
        self.room.crash_after(records)
        try:
            self.room.end(model.places[-1], decision)
        except Crash:
            model.may_be = {"pending", decision.state}
        self.die()

    @rule()
    def connect(self) -> None:
        if len(self.room.peers.connected) < 2:
            self.room.connect(connection=len(self.room.peers.asked) + 1)

    @rule()
    def disconnect(self) -> None:
        self.room.disconnect()

    @rule(leaves=some.booleans())
    def check(self, *, leaves: bool) -> None:
        before = {id(model): model.state for model in self.known}
        questions = self.room.round(leaves=False)
        for question, place in zip(questions, places(questions), strict=True):
            model = self.model_of(question.unique_id)
            # No check after a decision.
            assert before[id(model)] == "pending"
            if place not in model.places:
                model.places.append(place)
            self.asked.append((model, place))
        if leaves:
            self.let_leave()
        self.look_for_discards()

    def let_leave(self) -> None:
        """What was sent, in this round or an earlier one, reaches the kernel."""
        sent = [self.room.peers.asked[number - 1] for _, number in self.room.peers.unwritten]
        for place in places(sent):
            next(model for model in self.known if place in model.places).questions += 1
        self.room.let_leave()

    @rule(number=PICKS, decision=DECISIONS)
    def answer(self, number: int, decision: Decision | None) -> None:
        """A producer answers a question, be it long ago."""
        if self.asked:
            model, place = self.asked[number % len(self.asked)]
            was_pending = model.state == "pending"
            settled = self.room.end(place, decision)
            if decision is not None and was_pending:
                assert settled.code == ResponseCode.SUCCESS
                model.state = decision.state

    @precondition(lambda self: self.room.peers.connected)
    @rule(records=RECORDS)
    def die_while_checking(self, records: int) -> None:
        self.room.clock.advance(INTERVAL_MS)
        self.room.crash_after(records)
        try:
            self.room.check_back.run()
        except Crash:
            for model in self.known:
                if model.state == "pending":
                    model.may_be = {"pending", "discarded"}
        self.die()

    @rule()
    def leave_old_segments(self) -> None:
        """Half messages are put back, so that the segments before them may go; that asks nobody."""
        checks = {found.root_log_offset: found.checks for found in self.room.index.pending(count_max=10_000)}
        end = self.room.store.log_end
        while put_back_before(end, self.room.index, self.room.store, self.room.journal):
            self.room.settle()
        assert (self.room.index.first_live_log_offset or end) >= end
        again = {found.root_log_offset: found.checks for found in self.room.index.pending(count_max=10_000)}
        assert again == checks
        self.look_for_copies()

    @rule(records=RECORDS)
    def die_while_leaving_old_segments(self, records: int) -> None:
        self.room.crash_after(records)
        with suppress(Crash):
            put_back_before(self.room.store.log_end, self.room.index, self.room.store, self.room.journal)
        self.die()

    @rule(minutes=some.integers(1, 60))
    def the_clock_steps(self, minutes: int) -> None:
        self.room.clock.advance(minutes * 60_000)

    @rule()
    def die(self) -> None:
        self.room.reopen()
        delivered = self.room.delivered()
        discarded = self.room.discarded()
        for model in self.known:
            if model.may_be:
                is_named = self.is_decided(model, delivered, discarded)
                model.state = is_named if is_named in model.may_be else "pending"
                model.may_be = set()
        self.look_for_copies()

    def is_decided(self, model: Model, delivered: list[str], discarded: list[str]) -> State:
        """What the log says of one whose decision was cut short."""
        others = [other for other in self.known if other.name == model.name and other is not model]
        if delivered.count(model.name) > sum(other.state == "committed" for other in others):
            return "committed"
        if discarded.count(model.name) > sum(other.state == "discarded" for other in others):
            return "discarded"
        return "pending" if model.name in self.room.pending() else "rolled_back"

    @rule(number=PICKS)
    def resume(self, number: int) -> None:
        model = self.pick(number, "discarded")
        if model is None:
            return
        record = next(
            record
            for record in self.room.store.iterate(DISCARD_TOPIC, 0)
            if (record.find_property(properties.ROOT) or "").startswith(f"{model.places[0].log_offset},")
        )
        half_offset = self.room.journal.next_half
        remark, end_offset = resume(record.log_offset, self.room.index, self.room.store, self.room.journal)
        self.room.settle()
        later = [other for other in self.known[self.known.index(model) + 1 :] if other.name == model.name]
        if any(other.state == "pending" for other in later):
            assert (remark, end_offset > 0, self.room.journal.next_half) == (None, True, half_offset)
        elif later:
            # It was resumed once, and that was decided.
            assert (remark is None, end_offset, self.room.journal.next_half) == (False, 0, half_offset)
        else:
            assert remark is None
            (half,) = self.room.store.read(HALF_TOPIC, 0, half_offset)
            self.known.append(Model(model.name, [Place(half.queue_offset, half.log_offset)]))

    @rule(number=PICKS, decision=some.sampled_from([Decision.COMMIT, Decision.ROLLBACK]), checks=some.booleans())
    def apache_has_a_turn(self, number: int, decision: Decision, *, checks: bool) -> None:
        """A broker that knows nothing of ours puts a copy back, or decides; its records carry no word of us."""
        model = self.pick(number, "pending")
        if model is None:
            return
        store = self.room.store
        (half,) = store.read(HALF_TOPIC, 0, max(place.half_offset for place in model.places), count_max=1)
        pairs = {name: value for name, value in half.properties.items() if not name.startswith("ESCROWMQ")}
        if checks:
            counted = int(pairs.get(properties.CHECK_TIMES, "0")) + 1
            pairs[properties.CHECK_TIMES] = str(counted)
            (receipt,) = store.append([_core.Message.copy_of(half, properties=properties.encode(pairs))])
            model.places.append(Place(receipt.queue_offset, receipt.log_offset))
            # It counts whether it asks anybody or not.
            model.questions = max(model.questions, counted)
        else:
            final = _core.Message.copy_of(
                half,
                topic=TOPIC,
                queue_id=1,
                properties=properties.encode(pairs),
                sys_flag=8,
                prepared_transaction_offset=half.log_offset,
            )
            op = _core.Message(OP_TOPIC, b"%d," % half.queue_offset, tags="d")
            store.append([final, op] if decision is Decision.COMMIT else [op])
            model.state = decision.state
        self.room.settle()
        self.die()

    def model_of(self, name: str) -> Model:
        """Of several with one name, the one that is pending."""
        return next(model for model in self.known if model.name == name and model.state == "pending")

    def look_for_discards(self) -> None:
        """What a round gave up, it gave up after its last question."""
        pending = self.room.pending()
        for model in self.known:
            if model.state == "pending" and model.name not in pending:
                model.state = "discarded"
                assert model.questions >= self.room.rules.checks_max

    def look_for_copies(self) -> None:
        """Copies that were put back before a question about them was sent."""
        for transaction in self.room.index.pending(count_max=10_000):
            model = self.model_of(transaction.unique_id)
            place = Place(transaction.half_offset, transaction.log_offset)
            if place not in model.places:
                model.places.append(place)

    @invariant()
    def committed_is_in_its_queue_exactly_once_and_rolled_back_never(self) -> None:
        committed = sorted(model.name for model in self.known if model.state == "committed")
        assert sorted(self.room.delivered()) == committed

    @invariant()
    def nothing_pending_is_forgotten(self) -> None:
        pending = sorted(model.name for model in self.known if model.state == "pending")
        assert sorted(self.room.pending()) == pending

    @invariant()
    def every_copy_has_the_one_decision(self) -> None:
        copies = [(model, place) for model in self.known for place in model.places]
        found = self.room.index.find([(place.half_offset, place.log_offset) for _, place in copies])
        for (model, _), transaction in zip(copies, found, strict=True):
            assert transaction is not None
            assert transaction.state == model.state
            assert transaction.group == GROUP

    @invariant()
    def a_budget_is_spent_on_questions_that_left(self) -> None:
        for transaction in self.room.index.pending(count_max=10_000):
            model = self.model_of(transaction.unique_id)
            # One copy more than questions that left: its own question is still to be asked.
            assert transaction.checks <= model.questions + 1

    @invariant()
    def an_apache_broker_would_ask_about_what_is_pending(self) -> None:
        half_offset, op_offset = self.room.journal.progress()
        later_ms = self.room.clock.wall_ms() + 3_600_000
        scan = seed_scan.check(self.room.store, half_offset, op_offset, now_ms=later_ms, checks_max=1_000)
        assert scan is not None
        live = {half for found in self.room.index.pending(count_max=10_000) for half in found.live_half_offsets}
        assert set(scan.asked) == live

    @invariant()
    def the_index_is_what_the_log_says(self) -> None:
        pending = self.room.index.pending(count_max=10_000)
        again = _core.TransactionIndex.open(self.room.store)
        # The one thing that no record says.
        again.mark_asked([transaction.half_offset for transaction in pending if transaction.is_asked])
        assert again.pending(count_max=10_000) == pending


TransactionsModel.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestTransactionsModel = TransactionsModel.TestCase
