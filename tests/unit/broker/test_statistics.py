"""What operators are told of how much came and went, and of how the broker is."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.compat.asking import send
from tests.compat.broker_process import Client
from tests.golden.recordings import runtime_infos
from tests.unit.broker.desk import Desk

from escrowmq.broker.runtime_info import human_size
from escrowmq.broker.traffic_statistics import Amount, Amounts
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.testing import LocalBroker

PULL, RUNTIME_INFO, TOPIC_STATS, CONSUME_STATS, VIEW = 11, 28, 202, 208, 315
SAMPLE_S = 10

# Of the keys that Apache's broker and ours tell: what must be the same after the same was done. The others are times,
# paths, sizes of this machine, sizes of records (ids in them are as long as the address of who made them), sizes of
# pools of threads that we don't have, and what nobody measures here.
SAME = {
    *("brokerActive", "brokerVersionDesc", "commitLogMinOffset", "dispatchBehindBytes"),
    *("dispatchMaxBuffer", "getFoundTps", "getTransferredTps", "pageCacheLockTimeMills", "putTps"),
    *("msgGetTotalTodayMorning", "msgGetTotalTodayNow", "msgGetTotalYesterdayMorning"),
    *("msgPutTotalTodayMorning", "msgPutTotalTodayNow", "msgPutTotalYesterdayMorning"),
    *("putMessageFailedTimes", "putMessageTimesTotal"),
    *("sendThreadPoolQueueSize", "pullThreadPoolQueueSize", "queryThreadPoolQueueSize", "ackThreadPoolQueueSize"),
    *("remainTransientStoreBufferNumbs", "startAcceptSendRequestTimeStamp", "timerCongestNum"),
}


@pytest.fixture
def broker() -> Iterator[LocalBroker]:
    with LocalBroker() as broker:
        yield broker


@pytest.fixture
def client(broker: LocalBroker) -> Iterator[Client]:
    with Client(broker.address) as client:
        yield client


def pull(client: Client, offset: int) -> int:
    """Pulls of queue 0 of `orders` as the group `billing`; the response code."""
    fields = {
        "consumerGroup": "billing",
        "topic": "orders",
        "queueId": "0",
        "queueOffset": str(offset),
        "maxMsgNums": "32",
        "sysFlag": "4",
        "commitOffset": "0",
        "suspendTimeoutMillis": "0",
        "subscription": "*",
        "subVersion": "1",
        "expressionType": "TAG",
    }
    return client.ask(PULL, fields).code


def runtime_info(client: Client) -> dict[str, str]:
    table: dict[str, str] = json.loads(bytes(client.ask(RUNTIME_INFO).body))["table"]
    return table


def view(client: Client, name: str, key: str) -> Any:
    answer = client.ask(VIEW, {"statsName": name, "statsKey": key})
    assert answer.code == ResponseCode.SUCCESS, answer.remark
    return json.loads(bytes(answer.body))


def send_and_pull_three(client: Client) -> None:
    """What was done to the broker that was recorded."""
    for _ in range(3):
        send(client, "orders", b"x" * 10)
    assert pull(client, 0) == ResponseCode.SUCCESS


def test_a_broker_tells_under_the_same_keys_what_apaches_tells(broker: LocalBroker, client: Client) -> None:
    early, late = runtime_infos()
    send_and_pull_three(client)
    told = runtime_info(client)
    # A key that holds a path is left out.
    assert {key for key in told if "/" not in key} == {key for key in early if "/" not in key}
    assert {key: told[key] for key in SAME} == {key: early[key] for key in SAME}
    for _ in range(7):
        broker.clock.advance(seconds=SAMPLE_S)
    assert {key: runtime_info(client)[key] for key in SAME} == {key: late[key] for key in SAME}


def test_rates_follow_what_was_done(broker: LocalBroker, client: Client) -> None:
    send_and_pull_three(client)
    assert pull(client, 3) == ResponseCode.PULL_NOT_FOUND
    broker.clock.advance(seconds=SAMPLE_S)
    told = runtime_info(client)
    # The clock was moved on by the time of a note, and runs besides.
    rate, *others = told["putTps"].split(" ")
    assert 0.0 < float(rate) <= 3 / SAMPLE_S
    assert others == ["", ""], "no minute is over"
    assert told["getTransferredTps"] == told["putTps"]
    assert told["getFoundTps"] == told["getMissTps"]
    assert float(told["getFoundTps"]) == pytest.approx(float(rate) / 3)
    assert float(told["getTotalTps"].split(" ")[0]) == pytest.approx(float(rate) / 3 * 2)


def test_timers_are_told_by_what_they_do(broker: LocalBroker, client: Client) -> None:
    broker.send("orders", b"later", properties={"TIMER_DELAY_SEC": "60"})
    while runtime_info(client)["timerCongestNum"] != "1":
        broker.clock.advance(seconds=1)
    broker.clock.advance(seconds=SAMPLE_S)
    assert float(runtime_info(client)["timerEnqueueTps"]) > 0
    assert runtime_info(client)["timerDequeueTps"] == "0.0"


def test_levels_of_delay_that_are_used_are_told(broker: LocalBroker, client: Client) -> None:
    broker.send("orders", b"later", properties={"DELAY": "2"})
    assert not [key for key in runtime_info(client) if key.startswith("scheduleMessageOffset")]
    broker.clock.advance(seconds=5)
    assert len(broker.messages("orders", count=1)) == 1
    broker.send("orders", b"later", properties={"DELAY": "2"})
    assert runtime_info(client)["scheduleMessageOffset_2"] == "1,2"


def test_what_came_and_went_in_the_last_minute_is_told_by_topic_and_group(broker: LocalBroker, client: Client) -> None:
    send_and_pull_three(client)
    for _ in range(6):
        broker.clock.advance(seconds=SAMPLE_S)
    came = view(client, "TOPIC_PUT_NUMS", "orders")["statsMinute"]
    assert came["sum"] == 3
    assert 0.0 < came["tps"] <= 3 / (6 * SAMPLE_S)
    assert view(client, "GROUP_GET_NUMS", "orders@billing")["statsMinute"]["sum"] == 3
    assert b'"topicPutTps":%s' % str(came["tps"]).encode() in bytes(client.ask(TOPIC_STATS, {"topic": "orders"}).body)
    consumed = client.ask(CONSUME_STATS, {"consumerGroup": "billing", "topic": "orders"})
    assert b'"consumeTps":%s' % str(came["tps"]).encode() in bytes(consumed.body)


def test_statistics_are_told_for_a_minute_an_hour_and_a_day() -> None:
    desk = Desk()
    desk.statistics.amounts["TOPIC_PUT_NUMS", "orders"] = Amounts(Amount(6, 0.1), Amount(7, 0.2), Amount(8, 0.3))
    fields = {"statsName": "TOPIC_PUT_NUMS", "statsKey": "orders"}
    assert json.loads(desk.ask(VIEW, fields).body) == {
        "statsMinute": {"sum": 6, "tps": 0.1, "avgpt": 0.0},
        "statsHour": {"sum": 7, "tps": 0.2, "avgpt": 0.0},
        "statsDay": {"sum": 8, "tps": 0.3, "avgpt": 0.0},
    }
    none = desk.ask(VIEW, {"statsName": "TOPIC_PUT_NUMS", "statsKey": "none"})
    assert (none.code, none.remark) == (ResponseCode.SYSTEM_ERROR, "The stats <TOPIC_PUT_NUMS> <none> not exist")


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (1_023, "1023 B"),
        (1_024, "1.0 KiB"),
        (1_536, "1.5 KiB"),
        (3 << 30, "3.0 GiB"),
        (1 << 70, "1024.0 EiB"),
    ],
)
def test_sizes_are_told_as_people_read_them(size_bytes: int, text: str) -> None:
    assert human_size(size_bytes) == text
