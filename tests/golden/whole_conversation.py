"""A recorded conversation as turns that can be taken again, and what answers say but for times, ids and addresses."""

import time
from dataclasses import dataclass
from typing import Any

from tests.golden.recordings import rows
from tests.unit.namesrv.desk import fastjson_value

from escrowmq import Frame, Record, decode_frames, decode_records
from escrowmq.protocol.request_codes import RequestCode

BROKER, NAME_SERVER = "broker", "namesrv"
ONE_WAY = 2
TRANSACTION_BITS = 12
FINDS = {
    RequestCode.PULL_MESSAGE,
    RequestCode.LITE_PULL_MESSAGE,
    RequestCode.QUERY_MESSAGE,
    RequestCode.VIEW_MESSAGE_BY_ID,
}
# How far the index is: a place in the log, and a time.
INDEX_END = {"indexLastUpdatePhyoffset", "indexLastUpdateTimestamp"}


@dataclass(frozen=True)
class Turn:
    """A request, and what Apache answered; None if it did not."""

    server: str
    connection: int
    request: Frame
    answer: Frame | None

    @property
    def topic(self) -> str:
        """The topic that is asked about."""
        fields = self.request.ext_fields
        return fields.get("topic") or fields.get("b") or ""

    @property
    def is_one_way(self) -> bool:
        return bool(self.request.flag & ONE_WAY)


@dataclass(frozen=True)
class Conversation:
    """All that clients asked, in the order in which it was answered, and what the broker told them unasked."""

    turns: list[Turn]
    told: list[tuple[int, Frame]]

    def found(self, topic: str) -> list[Record]:
        """The messages of a topic that pulls found, in the order of the log."""
        answers = [turn.answer for turn in self.turns if turn.request.code in FINDS and turn.topic == topic]
        records = [record for answer in answers if answer for record in decode_records(answer.body)]
        return sorted(records, key=lambda record: record.log_offset)

    def commits(self) -> dict[tuple[str, str, str], str]:
        """The last offset that was committed, by group, topic and queue."""
        fields = [
            turn.request.ext_fields for turn in self.turns if turn.request.code == RequestCode.UPDATE_CONSUMER_OFFSET
        ]
        return {(at["consumerGroup"], at["topic"], at["queueId"]): at["commitOffset"] for at in fields}


def recorded(file_name: str) -> Conversation:
    """The conversation of a recording. What is one-way or was never answered has the place at which it was asked."""
    frames = [(row["server"], row["connection"], row["from"], _frame(row)) for row in rows(file_name)]
    answered = {
        (server, connection, frame.opaque)
        for server, connection, side, frame in frames
        if side == "server" and frame.is_response
    }
    turns: list[Turn] = []
    told: list[tuple[int, Frame]] = []
    asked: dict[tuple[str, int, int], Frame] = {}
    for server, connection, side, frame in frames:
        key = (server, connection, frame.opaque)
        if side == "client" and key in answered:
            asked[key] = frame
        elif side == "client":
            turns.append(Turn(server, connection, frame, None))
        elif frame.is_response:
            turns.append(Turn(server, connection, asked.pop(key), frame))
        else:
            told.append((connection, frame))
    assert not asked
    return Conversation(turns, told)


def said(turn: Turn, answer: Frame, *, broker: str) -> dict[str, Any]:
    """What an answer of a broker with some address says, but for times, addresses, and its part of message ids."""
    fields = dict(answer.ext_fields)
    if "msgId" in fields:
        fields["msgId"] = ",".join(message_id[16:] for message_id in fields["msgId"].split(","))
    for name in INDEX_END & fields.keys():
        assert int(fields[name]) > 0
        fields[name] = "."
    return {
        "header": (answer.language, answer.version, answer.flag),
        "code": answer.code,
        "remark": answer.remark,
        "fields": fields,
        "body": [held(record) for record in decode_records(answer.body)]
        if turn.request.code in FINDS
        else fastjson_value(bytes(answer.body).replace(broker.encode(), b"the broker")),
    }


def in_our_time(request: Frame) -> Frame:
    """The request, but that a search for messages of up to then searches up to now, when ours are stored."""
    if "endTimestamp" not in request.ext_fields:
        return request
    return Frame(
        request.code,
        language=request.language,
        version=request.version,
        opaque=request.opaque,
        flag=request.flag,
        ext_fields={**request.ext_fields, "endTimestamp": str(time.time_ns() // 1_000_000)},
        body=request.body,
        header_kind=request.header_kind,
    )


def held(record: Record) -> dict[str, Any]:
    """What a record holds, but for where and when it was stored, and the ports of who sent and who stored it.

    Nor is compared what says that it was part of a transaction: these are apart.
    """
    return {
        "topic": record.topic,
        "queue": (record.queue_id, record.queue_offset),
        "body": bytes(record.body),
        "properties": {name: value for name, value in record.properties.items() if name != "TRAN_MSG"},
        "flags": (record.flag, record.sys_flag & ~TRANSACTION_BITS),
        "born": (record.born_timestamp_ms, record.born_host.rpartition(":")[0]),
        "stored": record.store_host.rpartition(":")[0],
        "reconsume_times": record.reconsume_times,
    }


def _frame(row: dict[str, Any]) -> Frame:
    (frame,), _ = decode_frames(bytes.fromhex(row["frame"]))
    return frame
