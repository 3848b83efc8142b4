"""A conversation with a broker about messages for later: delay levels, retries, dead letters, and what it refuses.

Held with Apache's it gave `later-conversation.jsonl.gz`; held with ours it must give the same, but for times, ids and
addresses. The broker has the levels `DELAY_LEVELS`.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from escrowmq import Frame, Record, decode_records

# Apache looks at each level by itself, ten times a second: a second apart, their order is sure.
DELAY_LEVELS = "1s 2s 3s 4s 5s"
ALL_DELIVERED_MS = 5_500
PATIENCE_S = 60

SEND, SEND_BACK = 310, 36
PULL, MAX_OFFSET, DELAY_OFFSETS, LOCK, TOPIC_CONFIG, UPDATE_GROUP = 11, 30, 45, 41, 351, 200
OLD_VERSION = 120
VERSION = 513
SUBSCRIPTION_IN_REQUEST = 4
BORN_MS = 1_794_984_736_583


class Talker(Protocol):
    """A client of the broker, and of its clock."""

    def ask(self, code: int, fields: Mapping[str, str], body: bytes, version: int) -> Frame:
        """The answer to a request."""

    def pass_time(self, time_ms: int) -> None:
        """Has the broker's time pass, or begin to."""


@dataclass(frozen=True)
class Exchange:
    """A question and its answer."""

    question: str
    answer: Frame


@dataclass
class Conversation:
    """What was said so far."""

    talker: Talker
    exchanges: list[Exchange] = field(default_factory=list)
    # By the key of a message: where it was stored first.
    log_offsets: dict[str, int] = field(default_factory=dict)

    def ask(
        self, question: str, code: int, fields: Mapping[str, str], body: bytes = b"", version: int = VERSION
    ) -> Frame:
        answer = self.talker.ask(code, fields, body, version)
        self.exchanges.append(Exchange(question, answer))
        return answer

    def send(self, key: str, topic: str, properties: str = "", *, version: int = VERSION, **more: str) -> None:
        """A message whose key is its body, and its id unless that is empty."""
        unique = f"UNIQ_KEY\x01{key}\x02" if key else ""
        fields = {
            "a": "producers",
            "b": topic,
            "c": "TBW102",
            "d": "4",
            "e": "0",
            "f": "0",
            "g": str(BORN_MS),
            "h": "7",
            "i": f"TAGS\x01a\x02{properties}{unique}",
            "j": "0",
            "k": "false",
            "m": "false",
            **more,
        }
        answer = self.ask(f"send {key} to {topic} {properties!r} {more}", SEND, fields, key.encode() or b"-", version)
        if "msgId" in answer.ext_fields:
            self.log_offsets.setdefault(key, int(answer.ext_fields["msgId"][-16:], 16))

    def give_back(
        self, key: str, level: int = 0, *, group: str = "billing", version: int = VERSION, **more: str | None
    ) -> None:
        fields: dict[str, str | None] = {
            "offset": str(self.log_offsets[key]),
            "group": group,
            "delayLevel": str(level),
            "originMsgId": key,
            "originTopic": "orders",
            "unitMode": "false",
            "maxReconsumeTimes": "16",
            **more,
        }
        given = {name: value for name, value in fields.items() if value is not None}
        self.ask(f"give back {key} to {group} at {level} {more} {version}", SEND_BACK, given, version=version)

    def await_messages(self, topic: str, queue_id: int, count: int) -> None:
        """Waits until a queue holds so many. How often that is asked is not part of the conversation."""
        deadline = time.monotonic() + PATIENCE_S
        while self._end_of(topic, queue_id) < count:
            assert time.monotonic() < deadline, f"{topic} {queue_id} does not get to {count}"
            time.sleep(0.02)

    def await_offsets(self) -> None:
        """Waits until every level is known to be delivered: Apache notes it a moment after consumers can see it."""
        levels = range(1, len(DELAY_LEVELS.split(" ")) + 1)
        ends = {str(level): self._end_of("SCHEDULE_TOPIC_XXXX", level - 1) for level in levels}
        deadline = time.monotonic() + PATIENCE_S
        while _value(bytes(self.talker.ask(DELAY_OFFSETS, {}, b"", VERSION).body))["offsetTable"] != ends:
            assert time.monotonic() < deadline, f"not all of {ends} are delivered"
            time.sleep(0.02)

    def _end_of(self, topic: str, queue_id: int) -> int:
        fields = {"topic": topic, "queueId": str(queue_id)}
        return int(self.talker.ask(MAX_OFFSET, fields, b"", VERSION).ext_fields["offset"])

    def pull(self, topic: str, queue_id: int, count: int) -> list[Record]:
        """All messages of a queue."""
        self.await_messages(topic, queue_id, count)
        fields = {
            "consumerGroup": "readers",
            "topic": topic,
            "queueId": str(queue_id),
            "queueOffset": "0",
            "maxMsgNums": "32",
            "sysFlag": str(SUBSCRIPTION_IN_REQUEST),
            "commitOffset": "0",
            "suspendTimeoutMillis": "0",
            "subscription": "*",
            "subVersion": "0",
            "expressionType": "TAG",
        }
        return decode_records(self.ask(f"pull {topic} {queue_id}", PULL, fields).body)

    def show_topic(self, topic: str) -> None:
        self.ask(f"show {topic}", TOPIC_CONFIG, {"topic": topic, "lo": "true"})


def hold(talker: Talker) -> Conversation:
    """The whole conversation, in its order."""
    conversation = Conversation(talker)
    for part in (delays, retries_by_the_broker, retries_by_the_client, the_second_time):
        part(conversation)
    return conversation


def delays(to: Conversation) -> None:
    for level in ("1", "2", "3", "5", "6", "99"):
        to.send(f"level-{level}", "delays", f"DELAY\x01{level}\x02", e="1", h="9")
    to.send("level-0", "delays", "DELAY\x010\x02")
    to.send("level-below", "delays", "DELAY\x01-1\x02")
    to.send("level-and-timer", "delays", "DELAY\x011\x02TIMER_DELAY_SEC\x0190\x02TIMER_DELIVER_MS\x0199\x02")
    to.send("forged", "delays", "DELAY\x011\x02REAL_TOPIC\x01other\x02REAL_QID\x019\x02CLUSTER\x01mine\x02")
    to.send("", "delays", "DELAY\x011\x02")
    to.send("batch", "delays", "DELAY\x011\x02", m="true")
    to.send("forbidden", "SCHEDULE_TOPIC_XXXX", "DELAY\x011\x02")
    to.send("badly-named", "de lays", "DELAY\x011\x02")
    to.send("nowhere", "nowhere", "DELAY\x011\x02", c="SELF_TEST_TOPIC")
    for queue_id, count in ((0, 4), (1, 1), (2, 1), (4, 3)):
        to.pull("SCHEDULE_TOPIC_XXXX", queue_id, count)
    to.talker.pass_time(ALL_DELIVERED_MS)
    to.pull("delays", 0, 5)
    to.pull("delays", 1, 6)


def retries_by_the_broker(to: Conversation) -> None:
    for key in ("one", "two", "three", "four", "five", "six", "seven"):
        to.send(key, "orders", "amount\x0150\x02WAIT\x01true\x02", e="3")
    to.give_back("one")
    to.give_back("two", 1)
    to.give_back("three", 9)
    to.give_back("four", -1)
    to.give_back("five", maxReconsumeTimes="0")
    to.give_back("six", maxReconsumeTimes="0", version=OLD_VERSION)
    to.give_back("seven", maxReconsumeTimes=None, unitMode=None, originMsgId=None, originTopic=None)
    to.give_back("one", offset="5")
    to.give_back("one", offset="-1")
    to.give_back("one", offset="99999999")
    to.give_back("one", offset=None)
    to.give_back("one", delayLevel=None)
    to.give_back("one", group="bad group")
    to.give_back("one", group="units", unitMode="true")
    no_retries = {"groupName": "none", "retryQueueNums": 0, "retryMaxTimes": 16, "consumeEnable": True}
    to.ask("a group without retry queues", UPDATE_GROUP, {}, json.dumps(no_retries).encode())
    to.give_back("one", group="none")
    few_retries = {"groupName": "few", "retryQueueNums": 2, "retryMaxTimes": 0, "consumeEnable": True}
    to.ask("a group that tries nothing again", UPDATE_GROUP, {}, json.dumps(few_retries).encode())
    to.give_back("one", group="few", maxReconsumeTimes=None)
    to.show_topic("%RETRY%billing")
    to.show_topic("%RETRY%units")
    to.show_topic("%RETRY%few")
    to.show_topic("%DLQ%billing")
    to.talker.pass_time(ALL_DELIVERED_MS)
    to.pull("%RETRY%billing", 0, 5)
    to.pull("%RETRY%units", 0, 1)
    to.pull("%DLQ%billing", 0, 2)
    to.pull("%DLQ%few", 0, 1)


def retries_by_the_client(to: Conversation) -> None:
    retry = "%RETRY%shipping"
    to.send("sent-0", retry, "DELAY\x013\x02RETRY_TOPIC\x01orders\x02ORIGIN_MESSAGE_ID\x0100AA\x02")
    to.send("sent-16", retry, "DELAY\x013\x02", j="16", l="16")
    to.send("sent-17", retry, "DELAY\x013\x02", j="17", l="16")
    to.send("sent-old", retry, "DELAY\x013\x02", j="3", l="2", version=OLD_VERSION)
    to.send("sent-over", retry, "DELAY\x013\x02", j="3", l="2")
    to.send("sent-now", retry)
    to.send("sent-committed", retry, "DELAY\x011\x02TRAN_MSG\x01true\x02", j="1")
    to.send("sent-batch", retry, m="true")
    to.send("sent-nameless", "%RETRY%bad%group%RETRY%" + "x" * 130, "DELAY\x011\x02")
    queue = {"brokerName": "broker-a", "queueId": 0, "topic": "orders"}
    locks = {"consumerGroup": "shipping", "clientId": "client", "mqSet": [queue], "onlyThisBroker": True}
    to.ask("lock a queue", LOCK, {}, json.dumps(locks).encode())
    to.send("sent-orderly", retry, "DELAY\x013\x02", j="1")
    to.show_topic(retry)
    to.show_topic("%DLQ%shipping")
    to.talker.pass_time(ALL_DELIVERED_MS)
    to.pull(retry, 0, 5)
    to.pull("%DLQ%shipping", 0, 3)


def the_second_time(to: Conversation) -> None:
    """What was delivered once is given back again; and what was given up is sent by hand."""
    for record in decode_records(to.exchanges[_place(to, "pull %RETRY%billing 0")].answer.body):
        to.log_offsets[f"again-{record.unique_id}"] = record.log_offset
    to.give_back("again-one")
    to.give_back("again-six", 1)
    to.give_back("again-two", maxReconsumeTimes="1")
    to.send("by-hand", "%DLQ%billing")
    to.talker.pass_time(ALL_DELIVERED_MS)
    to.pull("%RETRY%billing", 0, 7)
    to.pull("%DLQ%billing", 0, 4)
    to.await_offsets()
    to.ask("how far levels are delivered", DELAY_OFFSETS, {})


def _place(to: Conversation, question: str) -> int:
    return next(place for place, exchange in enumerate(to.exchanges) if exchange.question == question)


def told(exchange: Exchange, keys: Mapping[int, str]) -> dict[str, Any]:
    """What an answer says, but for times, ids that count bytes, ids that brokers make, and addresses."""
    answer, fields = exchange.answer, dict(exchange.answer.ext_fields)
    if "msgId" in fields:
        fields["msgId"] = "." * len(fields["msgId"])
    if exchange.question.startswith("send  to"):
        fields["transactionId"] = "made by the broker"
    said = {"question": exchange.question, "code": answer.code, "remark": answer.remark, "fields": fields}
    if exchange.question.startswith("pull"):
        return {**said, "records": [stored(record, keys) for record in decode_records(answer.body)]}
    return {**said, "body": _value(bytes(answer.body))}


def stored(record: Record, keys: Mapping[int, str]) -> dict[str, Any]:
    """What a record holds, in the same way."""
    properties = record.properties
    if "ORIGIN_MESSAGE_ID" in properties and len(properties["ORIGIN_MESSAGE_ID"]) > 4:
        properties["ORIGIN_MESSAGE_ID"] = keys[int(properties["ORIGIN_MESSAGE_ID"][-16:], 16)]
    if bytes(record.body) == b"-":
        properties["UNIQ_KEY"] = "made by the broker"
    return {
        "topic": record.topic,
        "queue": [record.queue_id, record.queue_offset],
        "body": bytes(record.body).decode(),
        "properties": properties,
        "flags": [record.flag, record.sys_flag],
        "born": [record.born_timestamp_ms, record.born_host.rpartition(":")[0]],
        "reconsume_times": record.reconsume_times,
        "prepared": record.prepared_transaction_offset,
    }


def _value(body: bytes) -> Any:
    """What a body says. A time is one of those that are not compared."""
    if not body:
        return None
    try:
        value = json.loads(_quoted(body))
    except ValueError:
        return body.decode()
    if isinstance(value, dict) and "dataVersion" in value:
        del value["dataVersion"]
    return value


def _quoted(body: bytes) -> str:
    text = body.decode()
    for level in range(1, 20):
        for before in "{,":
            text = text.replace(f"{before}{level}:", f'{before}"{level}":')
    return text


def all_told(conversation: Conversation) -> list[dict[str, Any]]:
    """What every answer says."""
    keys = {offset: key for key, offset in conversation.log_offsets.items()}
    return [told(exchange, keys) for exchange in conversation.exchanges]
