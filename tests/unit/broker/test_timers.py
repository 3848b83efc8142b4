"""Messages with a time of their own: what is stored for them, what is refused, and how one is taken back."""

from random import Random

import pytest
from tests.unit.broker.desk import Desk, send

from escrowmq.broker.delivery.timing import TimerRules, refuse_congestion, slot_ms
from escrowmq.broker.refusal import Refused
from escrowmq.broker_config import BrokerConfig
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.recall_handle import RecallHandle, decode_recall_handle
from escrowmq.protocol.response_codes import ResponseCode

SEND, CHECKPOINT, METRICS, RECALL = 310, 60, 61, 370
TIMER_TOPIC = "rmq_sys_wheel_timer"
NOW_MS = 1_794_984_736_720
RULES = TimerRules(precision_ms=1_000, delay_max_ms=259_200_000, slot_messages_max=2**31 - 1)
ILLEGAL = (
    "timer message illegal, the delay time should not be bigger than the max delay 259200000ms; or if set del msg, the "
    "delay time should be bigger than the current time"
)


def timed(properties: str, **more: str) -> dict[str, str]:
    return send("orders", i=f"UNIQ_KEY\x017F\x02{properties}", **more)


def desk(**settings: object) -> Desk:
    made = Desk(config=BrokerConfig(**settings))  # type: ignore[arg-type]
    made.now_ms = NOW_MS
    return made


def recall(broker: Desk, handle: str, topic: str = "orders") -> Answer:
    return broker.ask(RECALL, {"topic": topic, "recallHandle": handle, "producerGroup": "billing"})


def test_a_message_waits_in_the_timer_topic_and_its_sender_gets_a_handle() -> None:
    broker = desk()
    answer = broker.stored(SEND, timed("TAGS\x01a\x02TIMER_DELAY_SEC\x015\x02", e="2"), b"hello")
    assert answer.code == ResponseCode.SUCCESS
    assert (answer.ext_fields["queueId"], answer.ext_fields["queueOffset"]) == ("2", "0")
    # As recorded from Apache: the slot's time and a millisecond.
    handle = RecallHandle("orders", "broker-a", "1794984741001", "7F")
    assert decode_recall_handle(answer.ext_fields["recallHandle"]) == handle
    (message,) = broker.store.appended
    assert (message.topic, message.queue_id, message.body) == (TIMER_TOPIC, 0, b"hello")
    assert message.properties["TIMER_OUT_MS"] == "1794984741000"
    assert (message.properties["REAL_TOPIC"], message.properties["REAL_QID"]) == ("orders", "2")
    assert (message.properties["TIMER_DELAY_SEC"], message.properties["TAGS"]) == ("5", "a")
    assert broker.timers.noticed == [5]


@pytest.mark.parametrize(
    ("properties", "slot"),
    [
        ({"TIMER_DELAY_SEC": "1"}, 1_794_984_737_000),
        ({"TIMER_DELAY_MS": "1"}, 1_794_984_736_000),
        ({"TIMER_DELAY_MS": "280"}, 1_794_984_736_000),
        ({"TIMER_DELAY_MS": "281"}, 1_794_984_737_000),
        ({"TIMER_DELIVER_MS": "1794984740000"}, 1_794_984_739_000),
        ({"TIMER_DELIVER_MS": "1794984740001"}, 1_794_984_740_000),
        # The first of them counts, in Apache's order.
        ({"TIMER_DELIVER_MS": "1", "TIMER_DELAY_MS": "9000", "TIMER_DELAY_SEC": "2"}, 1_794_984_738_000),
        ({"TIMER_DELIVER_MS": "1", "TIMER_DELAY_MS": "9000"}, 1_794_984_745_000),
        ({"TIMER_DELAY_SEC": "259200"}, NOW_MS // 1_000 * 1_000 + 259_200_000),
        ({"TIMER_DELAY_SEC": "0"}, None),
        ({"TIMER_DELAY_SEC": "-9223372036854775808"}, None),
        ({"TIMER_DELIVER_MS": "0"}, None),
    ],
)
def test_the_slot_ends_when_the_message_is_due_or_up_to_a_tick_later(
    properties: dict[str, str], slot: int | None
) -> None:
    assert slot_ms(properties, RULES, now_ms=NOW_MS) == slot


@pytest.mark.parametrize(
    "properties",
    [
        {"TIMER_DELAY_SEC": "259201"},
        {"TIMER_DELAY_MS": "259200001"},
        {"TIMER_DELIVER_MS": "9223372036854775807"},
        {"TIMER_DELAY_SEC": "9223372036854775807"},
        {"TIMER_DELIVER_MS": "soon"},
        {"TIMER_DELAY_MS": "1.5"},
        {"TIMER_DELAY_MS": "1_000"},
        {"TIMER_DELAY_MS": "9" * 40},
        {"TIMER_DELAY_MS": "\u0661"},
        {"TIMER_DELAY_MS": "-1", "TIMER_DEL_UNIQKEY": "7F"},
    ],
)
def test_a_time_that_is_none_or_too_far_away_is_refused_in_apaches_words(properties: dict[str, str]) -> None:
    text = "".join(f"{name}\x01{value}\x02" for name, value in properties.items())
    answer = desk().ask(SEND, timed(text), b"body")
    assert (answer.code, answer.remark) == (ResponseCode.MESSAGE_ILLEGAL, ILLEGAL)


def test_a_message_whose_time_has_come_or_that_has_waited_goes_where_it_belongs() -> None:
    for properties in ("TIMER_DELAY_SEC\x01-5\x02", "TIMER_OUT_MS\x011794984736000\x02TIMER_DELAY_SEC\x015\x02"):
        broker = desk()
        answer = broker.stored(SEND, timed(properties))
        (message,) = broker.store.appended
        assert (message.topic, broker.timers.noticed) == ("orders", [])
        assert "recallHandle" not in answer.ext_fields


def test_a_broker_without_timers_says_so() -> None:
    broker = desk()
    broker.context.timers = None
    answer = broker.ask(SEND, timed("TIMER_DELAY_SEC\x015\x02"), b"body")
    remark = "accurate timer message is not enabled, timerWheelEnable is false"
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, remark)
    assert broker.ask(CHECKPOINT).code == broker.ask(METRICS).code == ResponseCode.SYSTEM_ERROR
    assert broker.store.appended == []


def test_a_slot_takes_no_more_than_twice_its_limit() -> None:
    rules = TimerRules(precision_ms=1_000, delay_max_ms=1, slot_messages_max=10)

    def refused(count: int) -> int:
        refusals = 0
        for seed in range(200):
            try:
                refuse_congestion(0, rules, lambda _: count, Random(seed))
            except Refused:
                refusals += 1
        return refusals

    assert (refused(0), refused(10), refused(20), refused(99)) == (0, 0, 200, 200)
    assert 0 < refused(15) < 200
    with pytest.raises(Refused, match="timer message is under flow control, max num limit is 20 or"):
        refuse_congestion(0, rules, lambda _: 20, Random(0))
    broker = desk(timer_slot_messages_max=2)
    broker.timers.waiting = 4
    answer = broker.ask(SEND, timed("TIMER_DELAY_SEC\x015\x02"), b"body")
    assert answer.code == ResponseCode.SYSTEM_ERROR


def test_a_retried_message_has_no_handle() -> None:
    broker = desk()
    answer = broker.stored(SEND, send("%RETRY%billing", i="UNIQ_KEY\x017F\x02TIMER_DELAY_SEC\x015\x02"))
    assert "recallHandle" not in answer.ext_fields
    assert broker.store.appended[0].topic == TIMER_TOPIC


def test_a_message_is_taken_back_by_one_in_the_same_slot() -> None:
    broker = desk(takes_recalls=True)
    sent = broker.stored(SEND, timed("TIMER_DELAY_SEC\x015\x02"))
    fields = {"topic": "orders", "recallHandle": sent.ext_fields["recallHandle"], "producerGroup": "billing"}
    answer = broker.stored(RECALL, fields, b"")
    assert (answer.code, answer.ext_fields) == (0, {"MSG_REGION": "DefaultRegion", "msgId": "7F"})
    waiting, recalling = broker.store.appended
    assert (recalling.topic, recalling.body) == (TIMER_TOPIC, b"0")
    assert recalling.properties["TIMER_OUT_MS"] == waiting.properties["TIMER_OUT_MS"]
    assert recalling.properties["TIMER_DEL_UNIQKEY"] == recalling.properties["UNIQ_KEY"] == "7F"
    assert recalling.properties["PGROUP"] == "billing"
    assert broker.timers.noticed == [4, 5]


def test_what_can_not_be_taken_back_is_refused_in_apaches_words() -> None:
    broker = desk(takes_recalls=True)
    broker.stored(SEND, timed("TIMER_DELAY_SEC\x015\x02"))
    good = RecallHandle("orders", "broker-a", str(NOW_MS + 5_000), "7F")
    refusals = {
        "@@@": "recall handle is invalid",
        "": "recall handle is invalid",
        RecallHandle("orders", "broker-a", "1", "").encode()[:8]: "recall handle is invalid",
        RecallHandle("others", "broker-a", good.time_ms, "7F").encode(): "recall failed, topic not match",
        RecallHandle("orders", "broker-b", good.time_ms, "7F").encode(): "recall failed, broker service not available",
        RecallHandle("orders", "broker-a", str(NOW_MS), "7F").encode(): "recall failed, timestamp invalid",
        RecallHandle("orders", "broker-a", "soon", "7F").encode(): "recall failed, timestamp invalid",
        RecallHandle("orders", "broker-a", "9" * 30, "7F").encode(): "recall failed, timestamp invalid",
    }
    for handle, remark in refusals.items():
        answer = recall(broker, handle)
        assert (answer.code, answer.remark) == (ResponseCode.ILLEGAL_OPERATION, remark)
    assert recall(broker, good.encode(), topic="nowhere").code == ResponseCode.TOPIC_NOT_EXIST
    answer = recall(desk(), good.encode())
    assert (answer.code, answer.remark) == (ResponseCode.NO_PERMISSION, "recall failed, operation is forbidden")
    assert recall(desk(takes_recalls=True, permission=4), good.encode()).code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert len(broker.store.appended) == 1


def test_a_handle_reads_without_its_padding() -> None:
    handle = RecallHandle("orders", "broker-a", "1794984741001", "7F")
    assert decode_recall_handle(handle.encode().rstrip("=")) == handle


def test_replicas_learn_how_far_the_timers_are() -> None:
    broker = desk()
    assert broker.ask(CHECKPOINT).body == bytes(56)
    assert broker.ask(METRICS).body == b'{"timingCount":{}}'


def test_timers_that_stand_still_take_no_message() -> None:
    broker = desk(takes_recalls=True)
    waits = timed("TIMER_DELAY_SEC\x015\x02")
    handle = broker.stored(SEND, waits, b"hello").ext_fields["recallHandle"]
    broker.timers.broken_by = "no such wheel"
    for answer in (broker.ask(SEND, waits, b"hello"), recall(broker, handle)):
        assert (answer.code, answer.remark) == (
            ResponseCode.SERVICE_NOT_AVAILABLE,
            "the timers stand still: no such wheel",
        )
    assert len(broker.store.appended) == 1
