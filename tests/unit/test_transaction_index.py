"""The index of transactions from Python: what is pending, what was decided, and who may ask for what."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.opening import EXPIRE_NOW, open_small

from escrowmq import Message, Receipts, Store, Transaction, TransactionIndex, decode_records
from escrowmq.errors import BadRecord, StoreClosed

HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_TOPIC = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
DISCARD_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"
COMMIT = 2 << 2
ID = "7F0000010000{:020X}"


def half(number: int, group: str = "billing", **properties: str) -> Message:
    names = {"PGROUP": group, "UNIQ_KEY": ID.format(number), "REAL_TOPIC": "payments", "REAL_QID": "3"}
    return Message(HALF_TOPIC, b"body %d" % number, properties=names | properties)


def final(number: int, half_log_offset: int) -> Message:
    return Message(
        "payments",
        b"body %d" % number,
        queue_id=3,
        sys_flag=COMMIT,
        properties={"UNIQ_KEY": ID.format(number)},
        prepared_transaction_offset=half_log_offset,
    )


def op(*halves: int, decided: str = "") -> Message:
    properties = {"ESCROWMQ_DECIDED": decided} if decided else {}
    return Message(OP_TOPIC, b"%d," * len(halves) % halves, tags="d", properties=properties)


class Log:
    """A store whose appends an index is told of."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.index = TransactionIndex.open(store)

    def append(self, *messages: Message) -> Receipts:
        receipts = self.store.append(messages)
        self.index.note(messages, receipts)
        return receipts

    def prepare(self, *messages: Message) -> list[Transaction]:
        receipts = self.append(*messages)
        found = self.index.find([(receipt.queue_offset, receipt.log_offset) for receipt in receipts])
        return [transaction for transaction in found if transaction is not None]


@pytest.fixture
def log(store: Store) -> Log:
    return Log(store)


def states(transactions: Sequence[Transaction]) -> list[tuple[str, str]]:
    return [(transaction.unique_id[-1], transaction.state) for transaction in transactions]


def first_live(index: TransactionIndex) -> tuple[int | None, int | None]:
    return index.first_live_half_offset, index.first_live_log_offset


def oldest_root_store_ms(index: TransactionIndex) -> int | None:
    return index.oldest_root_store_ms


def test_a_half_message_is_a_pending_transaction(log: Log) -> None:
    (transaction,) = log.prepare(half(1))
    (record,) = log.store.append([half(9)])
    assert transaction.state == "pending"
    assert (transaction.group, transaction.topic, transaction.queue_id) == ("billing", "payments", 3)
    assert transaction.unique_id == ID.format(1)
    assert (transaction.checks, transaction.half_offset, transaction.live_half_offsets) == (0, 0, [0])
    assert transaction.root_log_offset == transaction.log_offset == 0
    assert transaction.root_store_ms == transaction.store_ms <= record.store_timestamp_ms
    assert (transaction.decided_ms, transaction.decided_by, transaction.final_log_offset) == (None, None, None)
    assert transaction.decision_end == 0
    assert log.index.find([(0, 0)]) == [transaction]
    assert "pending" in repr(transaction)


def test_a_place_is_found_only_if_both_offsets_agree(log: Log) -> None:
    first, second = log.prepare(half(1), half(2))
    places = [(0, first.log_offset), (1, first.log_offset), (0, second.log_offset), (-1, 0), (0, -1), (2, 0)]
    assert log.index.find(places) == [first, None, None, None, None, None]


def test_a_commit_is_its_final_record_and_the_op_says_who(log: Log) -> None:
    (pending,) = log.prepare(half(1))
    receipts = log.append(final(1, pending.log_offset), op(0, decided="C0@127.0.0.1:4711"))
    (transaction,) = log.index.decided()
    assert (transaction.state, transaction.decided_by) == ("committed", "127.0.0.1:4711")
    assert transaction.final_log_offset == receipts[0].log_offset
    assert transaction.decided_ms == receipts[0].store_timestamp_ms
    assert transaction.decision_end == receipts.end_offset
    assert transaction.live_half_offsets == []
    assert (log.index.pending_count, log.index.decided_count, log.index.unmarked()) == (0, 1, [])


def test_a_decision_without_its_op_is_unmarked(log: Log) -> None:
    (pending,) = log.prepare(half(1))
    log.append(final(1, pending.log_offset))
    assert states(log.index.unmarked()) == [("1", "committed")]
    log.append(op(0, decided="C0@recovery"))
    assert log.index.unmarked() == []


def test_ops_roll_back_discard_and_put_back(log: Log) -> None:
    log.prepare(half(1), half(2), half(3), half(4))
    root = log.index.pending()[3]
    copy = half(4, ESCROWMQ_ROOT=f"{root.root_log_offset},{root.root_store_ms}", TRANSACTION_CHECK_TIMES="1")
    log.append(copy, op(0, 1, 3, decided="R0@a;D1@b;P3"), op(2))
    assert states(log.index.decided()) == [("3", "rolled_back"), ("2", "discarded"), ("1", "rolled_back")]
    (pending,) = log.index.pending()
    assert (pending.half_offset, pending.live_half_offsets, pending.checks) == (4, [4], 1)
    assert pending.root_log_offset == root.log_offset
    # The producer may still name the first copy.
    assert log.index.find([(3, root.log_offset)]) == [pending]


def test_the_first_decision_stays(log: Log) -> None:
    (pending,) = log.prepare(half(1))
    log.append(op(0, decided="R0@a"), final(1, pending.log_offset), op(0, decided="C0@b"))
    assert states(log.index.decided()) == [("1", "rolled_back")]
    assert log.index.contradiction_count == 2


def test_pending_ones_are_listed_by_group_and_range(log: Log) -> None:
    log.prepare(*(half(number, group="even" if number % 2 == 0 else "odd") for number in range(8)))
    assert [one.half_offset for one in log.index.pending()] == list(range(8))
    assert [one.half_offset for one in log.index.pending(group="odd", from_half=2, to_half=7)] == [3, 5]
    assert [one.half_offset for one in log.index.pending(group="even", count_max=2)] == [0, 2]
    assert log.index.pending(group="nobody") == []
    assert log.index.pending_by_group() == {"even": 4, "odd": 4}
    newest = log.index.find_undecided("odd", ID.format(3))
    assert newest is not None
    assert newest.half_offset == 3
    assert log.index.find_undecided("even", ID.format(3)) is None


def test_what_must_not_expire_begins_with_the_first_live_copy(log: Log) -> None:
    assert first_live(log.index) == (None, None)
    assert oldest_root_store_ms(log.index) is None
    first, second = log.prepare(half(1), half(2))
    assert first_live(log.index) == (0, first.log_offset)
    assert oldest_root_store_ms(log.index) == first.root_store_ms
    log.append(op(0, decided="R0@a"))
    assert first_live(log.index) == (1, second.log_offset)


def test_what_apache_was_done_with_is_closed(log: Log) -> None:
    log.prepare(half(1), half(2), half(3))
    assert log.index.close_before(2) == 2
    assert states(log.index.decided()) == [("2", "closed"), ("1", "closed")]
    assert log.index.unmarked() == []
    assert log.index.close_before(2) == 0
    assert log.index.pending_count == 1


def test_decided_ones_are_forgotten_by_age(log: Log) -> None:
    log.prepare(half(1), half(2))
    receipts = log.append(op(0, decided="R0@a"))
    decided_ms = receipts[0].store_timestamp_ms
    assert log.index.forget_decided_before(decided_ms) == 0
    assert log.index.forget_decided_before(decided_ms + 1) == 1
    assert (log.index.decided_count, log.index.pending_count) == (0, 1)
    assert log.index.find([(0, 0)]) == [None]


def test_no_more_decided_ones_are_kept_than_allowed(log: Log) -> None:
    log.prepare(half(1), half(2), half(3), half(4))
    for number in (2, 0, 1):
        log.append(op(number, decided=f"R{number}@a"))
    assert log.index.forget_decided_beyond(3) == 0
    assert log.index.forget_decided_beyond(1) == 2
    assert states(log.index.decided()) == [("2", "rolled_back")]
    assert log.index.pending_count == 1


def test_a_half_message_without_a_group_is_no_transaction(log: Log) -> None:
    log.append(Message(HALF_TOPIC, b"", properties={"UNIQ_KEY": ID.format(1), "REAL_TOPIC": "payments"}))
    assert (log.index.pending_count, log.index.ignored_count) == (0, 1)


def test_an_index_that_is_opened_again_says_the_same(log: Log, folder: Path) -> None:
    first, second, third = log.prepare(half(1), half(2), half(3))
    log.append(final(1, first.log_offset), op(0, 1, decided="C0@a;R1@b"))
    log.append(Message(DISCARD_TOPIC, b"", properties=half(3).properties))
    log.prepare(half(4))
    log.store.close()
    with open_small(folder) as store:
        again = TransactionIndex.open(store)
    assert again.end == log.index.end
    assert again.pending() == log.index.pending()
    assert again.decided() == log.index.decided()
    assert again.unmarked() == log.index.unmarked() == [one for one in again.decided() if one.state == "discarded"]
    assert {one.root_log_offset for one in again.decided()} == {one.log_offset for one in (first, second, third)}


def test_a_start_goes_on_where_the_index_was_saved(log: Log, folder: Path) -> None:
    assert log.index.save(), "an empty log has nothing to save"
    assert log.index.saved_end == 0
    log.prepare(half(1), half(2))
    log.store.flush()
    assert log.index.save()
    assert log.index.saved_end == log.index.end == log.store.log_end
    log.append(op(0, decided="R0@a"))
    log.store.close()
    with pytest.raises(StoreClosed):
        log.index.save()
    with open_small(folder) as store:
        again = TransactionIndex.open(store)
        assert (again.saved_end, again.end) == (log.index.saved_end, store.log_end)
        assert (again.pending(), again.decided()) == (log.index.pending(), log.index.decided())
        (decided,) = again.decided()
        assert decided.decided_ms is not None
        without = TransactionIndex.open(store, decided_since_ms=decided.decided_ms + 1)
        assert (without.pending_count, without.decided_count) == (1, 0)


def test_expiry_leaves_what_is_held(folder: Path) -> None:
    filler = [Message("orders", bytes(4_000))] * 12
    with open_small(folder, **EXPIRE_NOW) as store:
        store.append(filler)
        held = store.append([half(1)])[0].log_offset
        store.wait_visible(store.append(filler).end_offset)
        store.hold_from(held)
        assert 0 < store.expire().log_start <= held
        assert TransactionIndex.open(store).pending_count == 1
        store.hold_from(None)
        assert store.expire().log_start > held


def test_each_message_needs_its_receipt(log: Log) -> None:
    receipts = log.store.append([half(1), half(2)])
    with pytest.raises(ValueError, match="2 receipts for 1 messages"):
        log.index.note([half(1)], receipts)
    log.index.note([half(1)], list(receipts)[:1])
    log.index.note([half(2)], [receipts[1]])
    assert log.index.pending_count == 2
    assert log.index.end == receipts.end_offset
    assert log.index.memory_bytes > 0


def test_a_moved_record_has_another_queue_and_is_otherwise_the_same(store: Store) -> None:
    receipts = store.append([half(1)])
    store.wait_visible(receipts.end_offset)
    record = store.record_at(receipts[0].log_offset)
    (moved,) = decode_records(record.moved("payments", 3))
    assert (moved.topic, moved.queue_id) == ("payments", 3)
    assert moved.size_bytes == record.size_bytes + len("payments") - len(HALF_TOPIC)
    kept = ["queue_offset", "log_offset", "store_timestamp_ms", "born_host", "body_crc", "properties", "sys_flag"]
    assert all(getattr(moved, name) == getattr(record, name) for name in kept)
    with pytest.raises(BadRecord):
        record.moved("t" * 256, 0)
