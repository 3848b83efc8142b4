"""Recorded conversations with a real broker, replayed against the fast lane: the same requests get the same answers.

What the fast lane leaves to Python (transactions, delays, retries) is left out here, so message ids, which count the
bytes of the log, are compared by their broker alone.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.golden.recordings import NEVER_EXPIRE, OPTIONS
from tests.golden.whole_conversation import BROKER, Turn, held, recorded
from tests.unit.server.peer import Peer

from escrowmq import (
    BrokerServer,
    Frame,
    GroupEntry,
    PropertyFilter,
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
# All that is ever sent to these are plain sends, so their queues are whole here.
PLAIN_TOPICS = {"orders", "batches", "ledger"}
RECORDED_HOST = "127.0.0.1:20911"


def is_for_the_fast_lane(turn: Turn) -> bool:
    return turn.server == BROKER and turn.request.code in SENDS | PULLS | OFFSETS and turn.topic in PLAIN_TOPICS


def tell(server: BrokerServer, turns: list[Turn]) -> None:
    """What the recorded broker knew: topics of four queues, and the groups and subscriptions of all heartbeats."""
    topics = {turn.topic for turn in turns} - {""}
    server.set_topics({name: TopicEntry(read_queue_count=4, write_queue_count=4, permission=6) for name in topics})
    subscriptions: dict[tuple[str, str], SubscriptionEntry] = {}
    for turn in turns:
        if turn.request.code == HEART_BEAT:
            for group in json.loads(bytes(turn.request.body))["consumerDataSet"]:
                for entry in group["subscriptionDataSet"]:
                    subscriptions[group["groupName"], entry["topic"]] = subscription(entry)
    server.set_subscriptions(subscriptions)
    groups = {group for group, _ in subscriptions}
    groups |= {turn.request.ext_fields["consumerGroup"] for turn in turns if turn.request.code in PULLS}
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
        "records": [held(record) for record in decode_records(answer.body)],
    }


def was_passed(server: BrokerServer) -> bool:
    return any(isinstance(event, Request) for event in server.next_batch(timeout_s=0.0))


@pytest.mark.parametrize("name", ["json", "binary"])
def test_the_fast_lane_answers_as_the_recorded_broker_did(name: str, tmp_path: Path) -> None:
    turns = recorded(f"frames-{name}.jsonl.gz").turns
    compared: dict[int, int] = {}
    by_properties = 0
    with (
        Store.open(tmp_path, store_host=RECORDED_HOST, **OPTIONS, **NEVER_EXPIRE) as store,
        BrokerServer.start(store, ["127.0.0.1:0"], broker_name="broker-a", cluster_name="DefaultCluster") as server,
        Peer(server.addresses[0]) as peer,
    ):
        tell(server, turns)
        for turn in filter(is_for_the_fast_lane, turns):
            request, answer = turn.request, turn.answer
            if turn.is_one_way:
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
