"""Recorded conversations with a real broker, replayed against the fast lane: the same requests get the same answers.

What the fast lane leaves to Python (transactions, delays, retries) is left out here, so message ids, which count the
bytes of the log, are compared by their broker alone.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.golden.recordings import NEVER_EXPIRE, OPTIONS, broker_frames
from tests.unit.server.peer import Peer

from escrowmq import (
    BrokerServer,
    Frame,
    GroupEntry,
    PropertyFilter,
    Record,
    Request,
    Store,
    SubscriptionEntry,
    TopicEntry,
    decode_records,
)

SENDS = {10, 310, 320}
PULLS = {11, 361}
OFFSETS = {14, 15, 30, 31}
HEART_BEAT = 34
PULL_NOT_FOUND = 19
ONE_WAY = 2
# All that is ever sent to these are plain sends, so their queues are whole here.
PLAIN_TOPICS = {"orders", "batches", "ledger"}
RECORDED_HOST = "127.0.0.1:20911"


def requests_and_answers(name: str) -> Iterator[tuple[Frame, Frame | None]]:
    """The requests of clients in the order in which they were sent, each with its answer."""
    sent: dict[tuple[int, int], Frame] = {}
    answers: dict[tuple[int, int], Frame] = {}
    for connection, sender, frame in broker_frames(name):
        if sender == "client" and not frame.flag & 1:
            sent[connection, frame.opaque] = frame
        elif sender == "server" and frame.flag & 1:
            answers[connection, frame.opaque] = frame
    for key, request in sent.items():
        yield request, answers.get(key)


def is_for_the_fast_lane(request: Frame) -> bool:
    return request.code in SENDS | PULLS | OFFSETS and topic_of(request) in PLAIN_TOPICS


def topic_of(request: Frame) -> str:
    return request.ext_fields.get("topic") or request.ext_fields.get("b") or ""


def tell(server: BrokerServer, conversation: list[tuple[Frame, Frame | None]]) -> None:
    """What the recorded broker knew: topics of four queues, and the groups and subscriptions of all heartbeats."""
    topics = {topic_of(request) for request, _ in conversation} - {""}
    server.set_topics({name: TopicEntry(read_queue_count=4, write_queue_count=4, permission=6) for name in topics})
    subscriptions: dict[tuple[str, str], SubscriptionEntry] = {}
    for request, _ in conversation:
        if request.code == HEART_BEAT:
            for group in json.loads(bytes(request.body))["consumerDataSet"]:
                for entry in group["subscriptionDataSet"]:
                    subscriptions[group["groupName"], entry["topic"]] = subscription(entry)
    server.set_subscriptions(subscriptions)
    groups = {group for group, _ in subscriptions}
    groups |= {request.ext_fields["consumerGroup"] for request, _ in conversation if request.code in PULLS}
    server.set_groups({group: GroupEntry() for group in groups})


def subscription(entry: dict[str, Any]) -> SubscriptionEntry:
    """What a heartbeat says that a group wants."""
    version, kind, expression = entry["subVersion"], entry["expressionType"], entry["subString"]
    if kind == "SQL92":
        return SubscriptionEntry(version=version, expression_type=kind, property_filter=PropertyFilter(expression))
    return SubscriptionEntry(version=version, codes=None if expression == "*" else entry["codeSet"])


def told(answer: Frame) -> dict[str, Any]:
    """What an answer says, but for ids that count bytes of the log."""
    fields = dict(answer.ext_fields)
    if "msgId" in fields:
        fields["msgId"] = ",".join(message_id[:16] for message_id in fields["msgId"].split(","))
    return {
        "code": answer.code,
        "remark": answer.remark,
        "language": answer.language,
        "version": answer.version,
        "flag": answer.flag,
        "fields": fields,
        "records": [recorded(record) for record in decode_records(answer.body)],
    }


def recorded(record: Record) -> dict[str, Any]:
    """What a record holds, but for where and when it was stored, and the port it came from."""
    return {
        "topic": record.topic,
        "queue": (record.queue_id, record.queue_offset),
        "body": bytes(record.body),
        "properties": record.properties,
        "flags": (record.flag, record.sys_flag),
        "born": (record.born_timestamp_ms, record.born_host.rpartition(":")[0]),
        "store_host": record.store_host,
        "reconsume_times": record.reconsume_times,
    }


def was_passed(server: BrokerServer) -> bool:
    return any(isinstance(event, Request) for event in server.next_batch(timeout_s=0.0))


@pytest.mark.parametrize("name", ["json", "binary"])
def test_the_fast_lane_answers_as_the_recorded_broker_did(name: str, tmp_path: Path) -> None:
    conversation = list(requests_and_answers(name))
    compared: dict[int, int] = {}
    by_properties = 0
    with (
        Store.open(tmp_path, store_host=RECORDED_HOST, **OPTIONS, **NEVER_EXPIRE) as store,
        BrokerServer.start(store, ["127.0.0.1:0"], broker_name="broker-a", cluster_name="DefaultCluster") as server,
        Peer(server.addresses[0]) as peer,
    ):
        tell(server, conversation)
        for request, answer in conversation:
            if not is_for_the_fast_lane(request):
                continue
            if request.flag & ONE_WAY:
                peer.send(request)
                continue
            # A pull that waited in vain, or was answered when its client had gone, would wait here too.
            if answer is None or answer.code == PULL_NOT_FOUND:
                continue
            peer.send(request)
            (found,) = peer.receive()
            assert found.header_kind == request.header_kind
            assert told(found) == told(answer), request
            compared[request.code] = compared.get(request.code, 0) + 1
            by_properties += request.ext_fields.get("expressionType") == "SQL92"
        assert not was_passed(server)
    # Without this, a recording in which nothing is compared would pass.
    assert set(compared) >= {310, 320, 11, 14}
    assert compared[310] > 40
    assert by_properties > 0
