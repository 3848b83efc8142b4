"""Half messages: which sends may become one, and what it carries."""

import pytest
from tests.unit.transaction.values import Known

from escrowmq.protocol import properties
from escrowmq.transaction.preparing import half_properties, is_prepare, is_same_prepare, refuse

SENT = {"TRAN_MSG": "true", "PGROUP": "shop", "UNIQ_KEY": "7F01", "TAGS": "paid"}


def test_a_send_that_says_so_prepares_unless_a_consumer_gives_it_back() -> None:
    assert is_prepare(SENT, reconsume_times=0)
    assert is_prepare({"TRAN_MSG": "TRUE"}, reconsume_times=0)
    assert not is_prepare({"TRAN_MSG": "false"}, reconsume_times=0)
    assert not is_prepare({}, reconsume_times=0)
    assert not is_prepare({**SENT, "DELAY": "3"}, reconsume_times=1)


def test_a_half_message_says_where_it_is_for_and_nothing_that_only_the_broker_may_say() -> None:
    forged = {
        "REAL_TOPIC": "elsewhere",
        "REAL_QID": "9",
        "TRANSACTION_CHECK_TIMES": "14",
        "TRAN_PREPARED_QUEUE_OFFSET": "1",
        "ESCROWMQ_ROOT": "1,1",
        "ESCROWMQ_DECIDED": "C1@me",
    }
    assert half_properties({**SENT, **forged}, topic="orders", queue_id=2) == {
        **SENT,
        "__transactionId__": "7F01",
        "REAL_TOPIC": "orders",
        "REAL_QID": "2",
    }


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"PGROUP": ""}, "a producer group"),
        ({"PGROUP": "  "}, "a producer group"),
        ({"PGROUP": "g" * 256}, "PGROUP has 256 characters"),
        ({"UNIQ_KEY": "u" * 256}, "UNIQ_KEY has 256 characters"),
        ({"DELAY": "3"}, "DELAY"),
        ({"TIMER_DELAY_SEC": "3"}, "TIMER_DELAY_SEC"),
        ({"TIMER_DELAY_MS": "3"}, "TIMER_DELAY_MS"),
        ({"TIMER_DELIVER_MS": "3"}, "TIMER_DELIVER_MS"),
        ({"note": "x" * 32_700}, "too long"),
    ],
)
def test_what_could_not_be_decided_later_is_refused(more: dict[str, str], reason: str) -> None:
    assert refuse(SENT) is None
    assert reason in str(refuse({**SENT, **more}))


def test_there_is_room_for_all_that_copies_add() -> None:
    pairs = {**SENT, "note": ""}
    longest = 0
    for size in range(32_000, 32_767):
        if refuse({**pairs, "note": "x" * size}) is None:
            longest = size
    copy = {
        **pairs,
        "note": "x" * longest,
        "TRANSACTION_CHECK_TIMES": str(2**31),
        "TRAN_PREPARED_QUEUE_OFFSET": str(2**63),
        "ESCROWMQ_ROOT": f"{2**63},{2**63}",
    }
    assert len(properties.encode(copy)) <= 32_767


def same(known: Known, **changes: object) -> bool:
    sent: dict[str, object] = {"group": "shop", "topic": "orders", "body_crc": 99, "now_ms": 30_000, **changes}
    return is_same_prepare(known, **sent)  # type: ignore[arg-type]  # a test's shorthand


def test_the_same_prepare_again_is_the_same_transaction_for_half_a_minute() -> None:
    assert same(Known())
    assert not same(Known(), now_ms=30_001)
    # The clock was set back since.
    assert same(Known(), now_ms=-5_000)
    assert not same(Known(), group="another")
    assert not same(Known(), topic="another")
    assert not same(Known(), body_crc=98)
    assert not same(Known(checks=1))
    assert not same(Known(state="committed"))
