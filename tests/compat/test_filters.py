"""Filters by properties as a client meets them: asked for, subscribed to, brought along, kept over a restart."""

import json
from pathlib import Path

from tests.compat.broker_process import Client, ServerProcess

from escrowmq import Frame, decode_records
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

ANY_PORTS = ("--port=0", "--namesrv-port=0")
MAY_WAIT, BROUGHT = 2, 4


def send(client: Client, amount: int) -> None:
    fields = {
        "a": "producers",
        "b": "orders",
        "c": "TBW102",
        "d": "1",
        "e": "0",
        "f": "0",
        "g": "1700000000000",
        "h": "0",
        "i": f"amount\x01{amount}\x02",
        "j": "0",
        "k": "false",
        "m": "false",
    }
    answer = client.ask(RequestCode.SEND_MESSAGE_V2, fields, str(amount).encode())
    assert answer.code == ResponseCode.SUCCESS, answer.remark


def subscription(expression: str, version: int) -> dict[str, object]:
    return {"topic": "orders", "expressionType": "SQL92", "subString": expression, "subVersion": version}


def check(client: Client, expression: str) -> Frame:
    body = {"clientId": "c", "group": "rich", "subscriptionData": subscription(expression, 1)}
    return client.ask(RequestCode.CHECK_CLIENT_CONFIG, body=json.dumps(body).encode())


def beat(client: Client, expression: str, version: int) -> None:
    consumer = {
        "groupName": "rich",
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
        "subscriptionDataSet": [subscription(expression, version)],
    }
    body = {"clientID": "c", "consumerDataSet": [consumer], "producerDataSet": []}
    assert client.ask(RequestCode.HEART_BEAT, body=json.dumps(body).encode()).code == ResponseCode.SUCCESS


def pull(client: Client, offset: int = 0, flag: int = MAY_WAIT, version: int = 7, expression: str = "") -> Frame:
    fields = {
        "consumerGroup": "rich",
        "topic": "orders",
        "queueId": "0",
        "queueOffset": str(offset),
        "maxMsgNums": "32",
        "sysFlag": str(flag),
        "commitOffset": "0",
        "suspendTimeoutMillis": "15000",
        "subVersion": str(version),
        "expressionType": "SQL92",
        "subscription": expression,
    }
    return client.ask(RequestCode.PULL_MESSAGE, fields)


def amounts(answer: Frame) -> list[int]:
    assert answer.code == ResponseCode.SUCCESS, answer.remark
    return [int(bytes(record.body)) for record in decode_records(answer.body)]


def test_a_group_gets_what_its_expression_wants_before_and_after_a_restart(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with ServerProcess("up", data, *ANY_PORTS) as server, Client(server.broker) as client:
        assert check(client, "amount >= 300").code == ResponseCode.SUCCESS
        for amount in (100, 300, 200, 400):
            send(client, amount)
        beat(client, "amount >= 300", 7)
        assert amounts(pull(client)) == [300, 400]
        assert amounts(pull(client, flag=BROUGHT, expression="amount BETWEEN 100 AND 250")) == [100, 200]
        assert pull(client, version=8).code == ResponseCode.SUBSCRIPTION_NOT_LATEST
        assert server.stop() == 0
    file = next(data.rglob("consumerFilter.json"))
    kept = json.loads(file.read_text())["filterDataByTopic"]["orders"]["groupFilterData"]["rich"]
    assert (kept["expression"], kept["clientVersion"]) == ("amount >= 300", 7)
    with ServerProcess("up", data, *ANY_PORTS) as server, Client(server.broker) as client:
        # The messages of before the start are read by the reader thread.
        beat(client, "amount >= 300", 7)
        assert amounts(pull(client)) == [300, 400]
        beat(client, "amount < 300", 8)
        assert amounts(pull(client, version=8)) == [100, 200]


def test_a_wrong_expression_is_refused_with_its_place(tmp_path: Path) -> None:
    with ServerProcess("up", tmp_path / "data", *ANY_PORTS) as server, Client(server.broker) as client:
        send(client, 100)
        for answer in (check(client, "amount >="), pull(client, flag=BROUGHT, expression="amount >=")):
            assert answer.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
            assert answer.remark is not None
            assert "line 1, column 10: expected a property, a value, NOT or (, found the end" in answer.remark
        beat(client, "amount >=", 7)
        answer = pull(client)
        assert answer.code == ResponseCode.FILTER_DATA_NOT_EXIST
        assert "line 1, column 10" in (answer.remark or "")


def test_filters_may_be_off_by_apaches_key(tmp_path: Path) -> None:
    options = (*ANY_PORTS, "--set=enablePropertyFilter=false")
    unsupported = "The broker does not support consumer to filter message by SQL92"
    with ServerProcess("up", tmp_path / "data", *options) as server, Client(server.broker) as client:
        send(client, 100)
        beat(client, "amount > 1", 7)
        brought = pull(client, flag=BROUGHT, expression="amount > 1")
        for answer in (check(client, "amount > 1"), pull(client), brought):
            assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, unsupported)
