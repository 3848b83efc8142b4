"""Op records, as Apache brokers read them, with who decided for us."""

from escrowmq.transaction.decisions import OP_SIZE_MAX_BYTES, Decision, Mark, op_messages


def test_many_decisions_share_one_op_record() -> None:
    marks = [
        Mark(Decision.COMMIT, [17], "10.0.0.1:5"),
        Mark(Decision.ROLLBACK, [3, 19], "check 10.0.0.2:6"),
        Mark(None, [20]),
        Mark(Decision.DISCARD, [21], "check-back"),
    ]
    (message,) = op_messages(marks)
    assert (message.topic, message.queue_id, message.sys_flag) == ("RMQ_SYS_TRANS_OP_HALF_TOPIC", 0, 0)
    assert message.body == b"17,3,19,20,21,"
    assert message.properties == {
        "TAGS": "d",
        "WAIT": "true",
        "ESCROWMQ_DECIDED": "C17@10.0.0.1:5;R3,19@check 10.0.0.2:6;P20;D21@check-back",
    }


def test_no_decision_is_no_record() -> None:
    assert op_messages([]) == []


def test_too_many_for_one_record_are_in_several() -> None:
    marks = [Mark(Decision.COMMIT, [offset], "10.0.0.1:5") for offset in range(1_000_000, 1_002_000)]
    messages = op_messages(marks)
    assert len(messages) > 1
    assert all(len(message.properties_bytes) < OP_SIZE_MAX_BYTES + 100 for message in messages)
    assert b"".join(message.body for message in messages) == b"".join(b"%d," % mark.half_offsets[0] for mark in marks)


def test_who_decided_can_not_break_the_record() -> None:
    (message,) = op_messages([Mark(Decision.COMMIT, [1], "a;P2\x01b\x02\n" + "c" * 500)])
    decided = message.properties["ESCROWMQ_DECIDED"]
    assert decided.startswith("C1@a?P2?b??ccc")
    assert decided.count(";") == 0
