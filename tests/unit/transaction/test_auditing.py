"""What is written down for operators."""

from escrowmq.transaction.auditing import WrittenDown
from escrowmq.transaction.decisions import Decision


def test_contradictions_are_remembered_as_long_as_no_others_come_and_never_run_out() -> None:
    written = WrittenDown(count_max=3)
    for root in range(5):
        assert (root, Decision.COMMIT) not in written
        written.add([(root, Decision.COMMIT)])
        assert (root, Decision.COMMIT) in written
    assert [(root, Decision.COMMIT) in written for root in range(5)] == [False, False, True, True, True]
    assert (4, Decision.ROLLBACK) not in written
