"""A conversation with a broker about messages with a time of their own: stored, refused, delivered, taken back.

Held with Apache's it gave `timer-conversation.jsonl.gz`; held with ours it must give the same, but for times and ids.
The broker takes recalls, and messages go round by its timer topic after `ROLL_WINDOW_SLOTS`.
"""

from typing import Any

from tests.golden import later_conversation
from tests.golden.later_conversation import Conversation, Exchange, Talker

from escrowmq import Record, decode_records
from escrowmq.protocol.recall_handle import decode_recall_handle

ROLL_WINDOW_SLOTS = 6
# When the first is delivered, all have begun to wait; then when all are.
FIRST_DELIVERED_MS, ALL_DELIVERED_MS = 2_500, 14_000
TOPIC, TIMER_TOPIC = "appointments", "rmq_sys_wheel_timer"
METRICS, RECALL = 61, 370

TIMES = {"TIMER_OUT_MS", "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS", "BORN_TIMESTAMP", "TIMER_DELIVER_MS"}


def hold(talker: Talker) -> Conversation:
    """The whole conversation, in its order."""
    conversation = Conversation(talker)
    for part in (refusals, sends, recalls, deliveries):
        part(conversation)
    return conversation


def refusals(to: Conversation) -> None:
    for properties in (
        "TIMER_DELAY_SEC\x01259201\x02",
        "TIMER_DELAY_MS\x01259200001\x02",
        "TIMER_DELIVER_MS\x019223372036854775807\x02",
        "TIMER_DELIVER_MS\x01soon\x02",
        "TIMER_DELAY_MS\x011.5\x02",
        "TIMER_DELAY_MS\x01-1\x02TIMER_DEL_UNIQKEY\x01one\x02",
        "TIMER_DELAY_MS\x01\x02TIMER_DELAY_SEC\x01x\x02",
    ):
        to.send("refused", TOPIC, properties)


def sends(to: Conversation) -> None:
    to.send("now", TOPIC, "TIMER_DELAY_SEC\x010\x02")
    to.send("past", TOPIC, "TIMER_DELIVER_MS\x011794984736583\x02")
    to.send("negative", TOPIC, "TIMER_DELAY_MS\x01-9223372036854775808\x02")
    to.send("waited", TOPIC, "TIMER_OUT_MS\x01999\x02TIMER_DELAY_SEC\x015\x02")
    to.send("one", TOPIC, "TIMER_DELAY_SEC\x011\x02KEYS\x01k\x02", e="1", h="9")
    to.send("two", TOPIC, "TIMER_DELAY_MS\x014000\x02", e="1")
    to.send(
        "first-counts", TOPIC, "TIMER_DELIVER_MS\x011\x02TIMER_DELAY_MS\x0190000\x02TIMER_DELAY_SEC\x014\x02", e="1"
    )
    to.send("rolls", TOPIC, "TIMER_DELAY_SEC\x0111\x02", e="1")
    to.send(
        "forged",
        TOPIC,
        "TIMER_DELAY_SEC\x014\x02REAL_TOPIC\x01other\x02REAL_QID\x019\x02TIMER_ENQUEUE_MS\x011\x02",
        e="1",
    )
    to.send("", TOPIC, "TIMER_DELAY_SEC\x014\x02", e="1")
    to.send("retried", "%RETRY%billing", "TIMER_DELAY_SEC\x014\x02")


def recalls(to: Conversation) -> None:
    to.send("unwanted", TOPIC, "TIMER_DELAY_SEC\x015\x02", e="1")
    handle = to.exchanges[-1].answer.ext_fields["recallHandle"]
    for asked, more in (
        ("it", {}),
        ("it elsewhere", {"topic": "delays"}),
        ("it nowhere", {"topic": "nowhere"}),
        ("nothing", {"recallHandle": "nothing"}),
        ("no handle", {"recallHandle": "djEgYSBi"}),
    ):
        fields = {"producerGroup": "producers", "topic": TOPIC, "recallHandle": handle, **more}
        to.ask(f"recall {asked}", RECALL, fields)
    to.send("deleted", TOPIC, "TIMER_DELAY_SEC\x014\x02", e="1")
    to.send("deleting", TOPIC, "TIMER_DELAY_SEC\x014\x02TIMER_DEL_UNIQKEY\x01deleted\x02", e="1")


def deliveries(to: Conversation) -> None:
    to.pull(TIMER_TOPIC, 0, 11)
    to.talker.pass_time(FIRST_DELIVERED_MS)
    to.await_messages(TOPIC, 1, 1)
    to.talker.pass_time(ALL_DELIVERED_MS)
    to.pull(TOPIC, 0, 4)
    to.pull(TOPIC, 1, 6)
    to.pull("%RETRY%billing", 0, 1)
    to.pull(TIMER_TOPIC, 0, 12)


def told(exchange: Exchange) -> dict[str, Any]:
    """What an answer says, but for times and ids that brokers make."""
    said = later_conversation.told(exchange, {})
    fields = said["fields"]
    for name in ("queueOffset", "minOffset", "maxOffset", "nextBeginOffset"):
        if exchange.question.startswith("pull") and name in fields:
            fields[name] = "." * len(fields[name])
    handle = decode_recall_handle(fields.get("recallHandle", ""))
    if handle is not None:
        is_named = not exchange.question.startswith("send  to")
        fields["recallHandle"] = [handle.topic, handle.broker_name, handle.message_id if is_named else "made"]
    if "records" in said:
        records = decode_records(exchange.answer.body)
        said["records"] = [
            {**value, "properties": timeless(record, value["properties"]), "born": record.born_host.rpartition(":")[0]}
            for record, value in zip(records, said["records"], strict=True)
        ]
        said["records"].sort(key=lambda value: (value["properties"].get("TIMER_ROLL_TIMES", ""), str(value["body"])))
        for value in said["records"]:
            del value["queue"]
    return said


def timeless(record: Record, properties: dict[str, str]) -> dict[str, str]:
    """The properties of a record; of its times, whether it was delivered when its slot had ended."""
    for name in TIMES & properties.keys():
        properties[name] = "a time"
    if "TIMER_DEQUEUE_MS" in properties and record.topic != TIMER_TOPIC:
        is_late = int(record.properties["TIMER_DEQUEUE_MS"]) >= int(record.properties["TIMER_OUT_MS"]) + 1_000
        properties["TIMER_DEQUEUE_MS"] = "after its slot" if is_late else "before its slot"
    return properties


def all_told(conversation: Conversation) -> list[dict[str, Any]]:
    """What every answer says."""
    return [told(exchange) for exchange in conversation.exchanges]
