"""What the index makes of the transactions that RocketMQ's broker ran."""

from collections import Counter
from pathlib import Path

import pytest
from tests.golden import recordings

from escrowmq import Store, TransactionIndex


@pytest.fixture(params=["clean", "killed"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> TransactionIndex:
    folder = recordings.unpack_store(request.param, tmp_path)
    with Store.open(folder, **recordings.OPTIONS, **recordings.NEVER_EXPIRE) as store:
        return TransactionIndex.open(store)


def test_every_transaction_ended_as_it_did_for_apache(index: TransactionIndex) -> None:
    assert index.pending_count == 0
    assert index.ignored_count == index.contradiction_count == 0
    decided = index.decided()
    assert Counter(transaction.state for transaction in decided) == {"committed": 7, "rolled_back": 6, "discarded": 3}
    assert {transaction.group for transaction in decided} == {"order-service"}
    assert {transaction.topic for transaction in decided} == {"payments"}
    for transaction in decided:
        assert transaction.decided_by is None
        assert transaction.decided_ms is not None
        assert transaction.decision_end > transaction.log_offset
        assert (transaction.final_log_offset is not None) == (transaction.state == "committed")


def test_copies_belong_to_the_transaction_that_was_checked(index: TransactionIndex) -> None:
    discarded = [transaction for transaction in index.decided() if transaction.state == "discarded"]
    assert sorted(transaction.checks for transaction in discarded) == [5, 5, 5]
    assert sorted(transaction.half_offset for transaction in discarded) == [36, 37, 38]
    first_of_three = min(discarded, key=lambda transaction: transaction.root_log_offset)
    # A discard leaves no op record, so all of its copies are still live.
    assert first_of_three.live_half_offsets == [12, 22, 26, 30, 33, 36]
    immune = max((one for one in index.decided() if one.state == "committed"), key=lambda one: one.half_offset)
    assert (immune.checks, immune.half_offset, immune.live_half_offsets) == (2, 29, [15, 25])
    assert immune in index.unmarked()
