"""Groups that operators move."""

import json

import pytest
from tests.unit.broker.desk import Desk, TestStore, heartbeat
from tests.unit.broker.test_consumption import create, queue, value

from escrowmq.broker_config import BrokerConfig
from escrowmq.protocol.response_codes import ResponseCode

HEART_BEAT, CREATE_GROUP, RESET, CLONE = 34, 200, 222, 314
PUSH = 220
NOW = {"topic": "orders", "group": "billing", "timestamp": "-1", "isForce": "true"}


def make(*, resets_offsets: bool = True) -> Desk:
    """Two queues of `orders` with four messages and one, and a group that has consumed three and none of them."""
    store = TestStore({("orders", 0): [100, 200, 300, 400], ("orders", 1): [600]})
    desk = Desk(store=store, config=BrokerConfig(resets_offsets=resets_offsets))
    create(desk, "orders", 2)
    desk.ask(CREATE_GROUP, body=b'{"groupName":"billing"}')
    desk.offsets.committed["orders@billing"] = {0: 3, 1: 0}
    return desk


@pytest.mark.parametrize(
    ("fields", "offsets"),
    [
        ({}, {0: 4, 1: 1}),
        ({"timestamp": "200"}, {0: 1, 1: 0}),
        ({"queueId": "0", "timestamp": "300"}, {0: 2}),
        ({"queueId": "0", "offset": "4"}, {0: 4}),
        ({"queueId": "0", "offset": "-1"}, {0: 4}),
    ],
)
def test_a_group_goes_where_a_queue_was_or_to_its_end(fields: dict[str, str], offsets: dict[int, int]) -> None:
    desk = make()
    answer = desk.ask(RESET, {**NOW, **fields})
    assert value(answer.body) == {"offsetTable": {queue(number): offset for number, offset in offsets.items()}}
    assert desk.offsets.resets == [("billing", "orders", number, offset) for number, offset in offsets.items()]
    assert desk.context.notices == []


@pytest.mark.parametrize(
    ("fields", "code", "remark"),
    [
        ({"topic": "none"}, ResponseCode.TOPIC_NOT_EXIST, "Topic none does not exist"),
        ({"group": "none"}, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "Group none does not exist"),
        (
            {"queueId": "0", "offset": "6"},
            ResponseCode.SYSTEM_ERROR,
            "Target offset 6 not in consume queue range [0-4]",
        ),
    ],
)
def test_what_can_not_be_reset_is_refused(fields: dict[str, str], code: int, remark: str) -> None:
    desk = make()
    answer = desk.ask(RESET, {**NOW, **fields})
    assert (answer.code, answer.remark, desk.offsets.resets) == (code, remark, [])


@pytest.mark.parametrize(("is_forced", "offsets"), [("true", {0: 4, 1: 1}), ("false", {0: 3, 1: 0})])
def test_members_are_asked_to_move_where_it_is_set_so(is_forced: str, offsets: dict[int, int]) -> None:
    """Unless it is forced, nobody is moved forwards."""
    desk = make(resets_offsets=False)
    desk.ask(HEART_BEAT, body=heartbeat("one"), connection=1)
    desk.ask(HEART_BEAT, body=heartbeat("two"), connection=2)
    answer = desk.ask(RESET, {**NOW, "isForce": is_forced})
    told = {queue(number): offset for number, offset in offsets.items()}
    assert value(answer.body) == {"offsetTable": told}
    assert [(notice.connection, notice.code) for notice in desk.context.notices] == [(1, PUSH), (2, PUSH)]
    notice = desk.context.notices[0]
    assert value(notice.body) == {"offsetTable": told}
    assert (notice.ext_fields["topic"], notice.ext_fields["group"]) == ("orders", "billing")
    assert desk.offsets.resets == []


def test_clients_in_c_are_asked_in_a_list() -> None:
    desk = make(resets_offsets=False)
    desk.ask(HEART_BEAT, body=heartbeat())
    desk.ask(RESET, NOW, language="CPP")
    assert json.loads(desk.context.notices[0].body) == {
        "offsetTable": [
            {"brokerName": "broker-a", "offset": offset, "queueId": number, "topic": "orders"}
            for number, offset in ((0, 4), (1, 1))
        ]
    }


def test_members_that_are_not_there_can_not_be_asked() -> None:
    desk = make(resets_offsets=False)
    answer = desk.ask(RESET, NOW)
    assert (answer.code, answer.remark) == (
        ResponseCode.CONSUMER_NOT_ONLINE,
        "Consumer not online, so can not reset offset, Group: billing Topic: orders Timestamp: -1",
    )
    del desk.offsets.committed["orders@billing"][1]
    assert desk.ask(RESET, NOW).remark == "THe consumer group <billing> not exist"
    assert desk.ask(RESET, {**NOW, "topic": "none"}).code == ResponseCode.TOPIC_NOT_EXIST


def test_a_group_begins_where_another_one_is() -> None:
    desk = make()
    desk.offsets.committed["orders@new"] = {7: 7}
    assert desk.ask(CLONE, {"srcGroup": "billing", "destGroup": "new", "topic": "orders"}).code == 0
    assert desk.offsets.committed["orders@new"] == {0: 3, 1: 0}
    assert desk.offsets.committed["orders@billing"] == {0: 3, 1: 0}


def test_only_what_a_group_reads_is_cloned_unless_it_is_said_to_be_offline() -> None:
    desk = make()
    desk.ask(HEART_BEAT, body=heartbeat(topics={"other": ()}))
    fields = {"srcGroup": "billing", "destGroup": "new", "topic": ""}
    desk.ask(CLONE, fields)
    assert "orders@new" not in desk.offsets.committed
    desk.ask(CLONE, {**fields, "offline": "true"})
    assert desk.offsets.committed["orders@new"] == {0: 3, 1: 0}


def test_nobody_moves_how_far_transactions_are() -> None:
    desk = make()
    group = "CID_RMQ_SYS_TRANS"
    desk.offsets.committed[f"orders@{group}"] = {0: 1}
    moved = desk.ask(RESET, {**NOW, "group": group})
    cloned = desk.ask(CLONE, {"srcGroup": "billing", "destGroup": group, "topic": "orders"})
    assert (moved.code, cloned.code) == (ResponseCode.NO_PERMISSION, ResponseCode.NO_PERMISSION)
    assert desk.offsets.committed[f"orders@{group}"] == {0: 1}
