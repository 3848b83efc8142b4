"""What clients ask a broker and a name server, in raw frames."""

from tests.compat.broker_process import Client
from tests.unit.namesrv.desk import fastjson_value

from escrowmq import Frame, decode_records
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode


def ask_to_send(client: Client, topic: str, body: bytes, tags: str = "a", queue_id: int = 0) -> Frame:
    """The answer to a send."""
    fields = {
        "a": "producers",
        "b": topic,
        "c": "TBW102",
        "d": "4",
        "e": str(queue_id),
        "f": "0",
        "g": "1700000000000",
        "h": "0",
        "i": f"TAGS\x01{tags}\x02",
        "j": "0",
        "k": "false",
        "m": "false",
    }
    return client.ask(RequestCode.SEND_MESSAGE_V2, fields, body)


def send(client: Client, topic: str, body: bytes, tags: str = "a", queue_id: int = 0) -> dict[str, str]:
    """Sends a message, and returns the fields of the answer."""
    answer = ask_to_send(client, topic, body, tags, queue_id)
    assert answer.code == ResponseCode.SUCCESS, answer.remark
    return answer.ext_fields


def pull(client: Client, group: str, topic: str, *, offset: int = 0, queue_id: int = 0) -> list[bytes]:
    """Bodies of a queue from an offset on."""
    fields = {
        "consumerGroup": group,
        "topic": topic,
        "queueId": str(queue_id),
        "queueOffset": str(offset),
        "maxMsgNums": "32",
        "sysFlag": "0",
        "commitOffset": "0",
        "suspendTimeoutMillis": "0",
        "subVersion": "1",
        "expressionType": "TAG",
    }
    answer = client.ask(RequestCode.PULL_MESSAGE, fields)
    assert answer.code in {ResponseCode.SUCCESS, ResponseCode.PULL_NOT_FOUND}, answer.remark
    return [bytes(record.body) for record in decode_records(answer.body)] if answer.body else []


def pull_all(client: Client, group: str, topic: str) -> list[bytes]:
    """All bodies of queue 0."""
    bodies: list[bytes] = []
    while more := pull(client, group, topic, offset=len(bodies)):
        bodies += more
    return bodies


def commit(client: Client, group: str, topic: str, offset: int) -> int:
    """Commits an offset of queue 0; the response code."""
    fields = {"consumerGroup": group, "topic": topic, "queueId": "0", "commitOffset": str(offset)}
    return client.ask(RequestCode.UPDATE_CONSUMER_OFFSET, fields).code


def committed(client: Client, group: str, topic: str) -> str:
    """The offset of queue 0 that was committed."""
    fields = {"consumerGroup": group, "topic": topic, "queueId": "0"}
    return client.ask(RequestCode.QUERY_CONSUMER_OFFSET, fields).ext_fields["offset"]


def brokers(client: Client) -> object:
    """The brokers that a name server knows."""
    info = fastjson_value(bytes(client.ask(RequestCode.GET_BROKER_CLUSTER_INFO).body))
    return info["clusterAddrTable"]["DefaultCluster"]


def route_code(client: Client, topic: str) -> int:
    """How a name server answers who looks for a topic."""
    return client.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}).code
