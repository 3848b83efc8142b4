"""A broker server over a store of its own, and the requests that tests send to it."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from tests.unit.server.peer import Peer

from escrowmq import BrokerServer, Frame, GroupEntry, Store, SubscriptionEntry, TopicEntry

LOOPBACK = "127.0.0.1:0"
# Small files, and a disk that is never too full.
STORE: dict[str, Any] = {
    "segment_size_bytes": 1 << 20,
    "queue_file_entries": 1000,
    "index_slots": 100,
    "index_entries": 1000,
    "disk_clean_ratio": 1.0,
    "disk_force_ratio": 1.0,
    "disk_refuse_ratio": 1.0,
}
ORDERS = TopicEntry(read_queue_count=4, write_queue_count=4, permission=6)

HeaderKind = Literal["json", "binary"]
Flush = Literal["sync", "async"]

_opaques = itertools.count(1)


@contextmanager
def started(folder: Path, *, flush: Flush = "sync", **options: Any) -> Iterator[BrokerServer]:
    """A server that knows the topic `orders`, the group `billing`, which wants `paid`, and the group `all`."""
    with (
        Store.open(folder, flush=flush, **STORE) as store,
        BrokerServer.start(store, [LOOPBACK], broker_name="a", cluster_name="c", **options) as server,
    ):
        server.set_topics({"orders": ORDERS})
        server.set_groups({"billing": GroupEntry(), "all": GroupEntry()})
        server.set_subscriptions(
            {
                ("billing", "orders"): SubscriptionEntry(version=5, codes=[java_hash("paid")]),
                ("all", "orders"): SubscriptionEntry(version=5),
            }
        )
        yield server


def connected(server: BrokerServer) -> Peer:
    """A peer of the server."""
    return Peer(server.addresses[0])


def send(
    body: bytes,
    *,
    topic: str = "orders",
    tags: str = "paid",
    queue_id: int = 0,
    kind: HeaderKind = "json",
    flag: int = 0,
    properties: str = "",
) -> Frame:
    """SEND_MESSAGE_V2."""
    fields = {
        "a": "producers",
        "b": topic,
        "c": "TBW102",
        "d": "4",
        "e": str(queue_id),
        "f": "0",
        "g": "1794984736583",
        "h": "0",
        "i": f"TAGS\x01{tags}\x02UNIQ_KEY\x017F\x02{properties}",
        "j": "0",
        "k": "false",
        "m": "false",
    }
    return Frame(310, opaque=next(_opaques), flag=flag, ext_fields=fields, body=body, header_kind=kind)


def pull(
    offset: int, *, group: str = "all", suspend_ms: int = 0, queue_id: int = 0, kind: HeaderKind = "json"
) -> Frame:
    """PULL_MESSAGE; with a time, one that waits."""
    fields = {
        "consumerGroup": group,
        "topic": "orders",
        "queueId": str(queue_id),
        "queueOffset": str(offset),
        "maxMsgNums": "32",
        "sysFlag": "2" if suspend_ms else "0",
        "commitOffset": "0",
        "suspendTimeoutMillis": str(suspend_ms),
        "subVersion": "5",
    }
    return Frame(11, opaque=next(_opaques), ext_fields=fields, header_kind=kind)


def ask(peer: Peer, frame: Frame) -> Frame:
    """The answer to a request."""
    peer.send(frame)
    (answer,) = peer.receive()
    assert (answer.opaque, answer.flag, answer.header_kind) == (frame.opaque, 1, frame.header_kind)
    return answer


def java_hash(text: str) -> int:
    """`String.hashCode`, for tags in ASCII."""
    value = 0
    for character in text:
        value = (31 * value + ord(character)) & 0xFFFF_FFFF
    return value - (1 << 32) if value >= 1 << 31 else value
