"""A conversation with a name server: what brokers, clients and operators ask, in one order, over several connections.

Held with Apache's it gave `namesrv-conversation.jsonl.gz`; held with ours it must give the same. Not in it is what we
do differently on purpose: see `tests/unit/namesrv/test_differences.py`.
"""

import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

CLIENT_VERSION = 513
OLD_CLIENT_VERSION = 300

REGISTER, UNREGISTER, ROUTE, CLUSTERS = 103, 104, 105, 106
PUT_KV, GET_KV, DELETE_KV, LIST_KV = 100, 101, 102, 219
WIPE, ADD, ALL_TOPICS, DELETE_TOPIC, REGISTER_TOPIC = 205, 327, 206, 216, 217
CLUSTER_TOPICS, SYSTEM_TOPICS, UNITS, UNIT_SUBS, UNIT_SUBS_ONLY = 224, 304, 311, 312, 313
CHANGE_SETTINGS, DATA_VERSION, MEMBERS, HEARTBEAT = 318, 322, 901, 904


@dataclass(frozen=True)
class Ask:
    """A request by a connection, which is opened when it is first used."""

    connection: str
    code: int
    fields: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    version: int = CLIENT_VERSION


@dataclass(frozen=True)
class Close:
    """The client closes a connection; the next request comes when the name server must have noticed."""

    connection: str


@dataclass(frozen=True)
class Settle:
    """Apache unregisters a moment after it has answered."""


Step = Ask | Close | Settle


def broker(
    name: str = "broker-a", port: int = 10911, broker_id: int = 0, *, zone: str = "", may_act: bool = False, **more: str
) -> dict[str, str]:
    """Fields of a broker; `more` are further ones, and others for some of them."""
    fields = {
        "brokerName": name,
        "brokerAddr": f"127.0.0.1:{port}",
        "clusterName": "C1",
        "haServerAddr": f"127.0.0.1:{port + 1}",
        "brokerId": str(broker_id),
        "compressed": "false",
        **({"__ZONE_NAME": zone} if zone else {}),
        **({"enableActingMaster": "true"} if may_act else {}),
    }
    return {**fields, **more}


def topic(name: str, *, queues: int = 8, perm: int = 6, system_flag: int = 0) -> dict[str, Any]:
    return {
        "attributes": {},
        "order": False,
        "perm": perm,
        "readQueueNums": queues,
        "topicFilterType": "SINGLE_TAG",
        "topicName": name,
        "topicSysFlag": system_flag,
        "writeQueueNums": queues,
    }


def table(
    *topics: Mapping[str, Any],
    counter: int = 1,
    state: int = 0,
    filters: Sequence[str] = (),
    mappings: Mapping[str, Any] | None = None,
) -> bytes:
    wrapper = {
        "dataVersion": {"counter": counter, "stateVersion": state, "timestamp": 1_000},
        "mappingDataVersion": {"counter": 0, "stateVersion": 0, "timestamp": 1_000},
        "topicConfigTable": {one["topicName"]: one for one in topics},
        "topicQueueMappingDetailMap": {},
        "topicQueueMappingInfoMap": mappings or {},
    }
    return json.dumps(
        {"filterServerList": list(filters), "topicConfigSerializeWrapper": wrapper}, ensure_ascii=False
    ).encode()


def compressed_table(*topics: Mapping[str, Any], counter: int) -> bytes:
    def piece(text: str) -> bytes:
        return struct.pack(">i", len(text.encode())) + text.encode()

    lines = [
        f"{one['topicName']} {one['readQueueNums']} {one['writeQueueNums']} {one['perm']} SINGLE_TAG "
        + json.dumps(one["attributes"])
        for one in topics
    ]
    version = json.dumps({"counter": counter, "stateVersion": 0, "timestamp": 1_000})
    parts = [piece(version), struct.pack(">i", len(lines)), *map(piece, lines), piece("[]"), struct.pack(">i", 0)]
    return zlib.compress(b"".join(parts), 9)


TOPICS = (
    topic("TBW102", perm=7),
    topic("orders", queues=4, system_flag=1),
    topic("invoices", queues=4, system_flag=2),
    topic("both", queues=4, system_flag=3),
)


def steps() -> Iterator[Step]:
    """All of it."""
    yield from nobody_is_there()
    yield from values_are_kept()
    yield from a_broker_registers()
    yield from a_slave_comes_and_the_master_goes()
    yield from slaves_act_as_masters()
    yield from brokers_take_each_others_seats()
    yield from two_clusters()
    yield from zones_and_static_topics()
    yield from settings_change()


def nobody_is_there() -> Iterator[Step]:
    yield Ask("client", ROUTE, {"topic": "nowhere"})
    yield Ask("client", 999)
    for code in (CLUSTERS, ALL_TOPICS, SYSTEM_TOPICS, UNITS):
        yield Ask("client", code)
    yield Ask("client", CLUSTER_TOPICS, {"cluster": "none"})
    yield Ask("client", MEMBERS, {"clusterName": "none", "brokerName": "none"})
    yield Ask("client", UNREGISTER, broker())
    yield Ask("client", WIPE, {"brokerName": "none"})
    yield Ask("client", ADD, {"brokerName": "none"})
    yield Ask("client", DELETE_TOPIC, {"topic": "none"})
    yield Ask("client", DELETE_TOPIC, {"topic": "none", "clusterName": "none"})
    yield Ask("client", REGISTER_TOPIC, {"topic": "none"})
    yield Ask("client", HEARTBEAT, broker())
    yield Ask("client", DATA_VERSION, broker(), b'{"counter":1,"stateVersion":0,"timestamp":1}')
    yield Ask("client", DATA_VERSION, broker())


def values_are_kept() -> Iterator[Step]:
    key = {"namespace": "colours", "key": "sky"}
    yield Ask("client", GET_KV, key)
    yield Ask("client", LIST_KV, {"namespace": "colours"})
    yield Ask("client", PUT_KV, {**key, "value": "blü e"})
    yield Ask("client", GET_KV, key)
    yield Ask("client", LIST_KV, {"namespace": "colours"})
    yield Ask("client", DELETE_KV, key)
    yield Ask("client", DELETE_KV, {"namespace": "none", "key": "none"})
    yield Ask("client", GET_KV, key)
    yield Ask("client", LIST_KV, {"namespace": "colours"})
    yield Ask("client", PUT_KV, {"namespace": "ORDER_TOPIC_CONFIG", "key": "orders", "value": "broker-a:4"})


def a_broker_registers() -> Iterator[Step]:
    body = table(*TOPICS)
    yield Ask("master", REGISTER, broker(bodyCrc32="5"), body)
    yield Ask("master", REGISTER, broker(bodyCrc32=str(zlib.crc32(body) & 0x7FFF_FFFF)), body)
    for code in (CLUSTERS, ALL_TOPICS, SYSTEM_TOPICS, UNITS, UNIT_SUBS, UNIT_SUBS_ONLY):
        yield Ask("client", code)
    yield Ask("client", ROUTE, {"topic": "orders"})
    yield Ask("client", ROUTE, {"topic": "orders"}, version=OLD_CLIENT_VERSION)
    yield Ask("client", ROUTE, {"topic": "orders", "acceptStandardJsonOnly": "true"}, version=OLD_CLIENT_VERSION)
    yield Ask("client", CLUSTER_TOPICS, {"cluster": "C1"})
    yield Ask("client", MEMBERS, {"clusterName": "C1", "brokerName": "broker-a"})

    for version in (b'{"counter":1,"stateVersion":0,"timestamp":1000}', b'{"counter":2}', b"{}", b""):
        yield Ask("master", DATA_VERSION, broker(), version)
    yield Ask("master", HEARTBEAT, broker())

    yield Ask("client", WIPE, {"brokerName": "broker-a"})
    yield Ask("client", ROUTE, {"topic": "TBW102"})
    yield Ask("master", REGISTER, broker(), body)
    yield Ask("client", ROUTE, {"topic": "TBW102"})
    yield Ask("client", ADD, {"brokerName": "broker-a"})
    yield Ask("client", ROUTE, {"topic": "TBW102"})
    yield Ask("client", WIPE, {"brokerName": "broker-a"})
    yield Ask("master", REGISTER, broker(), table(*TOPICS, counter=2))
    yield Ask("client", ROUTE, {"topic": "TBW102"})

    yield Ask("master", REGISTER, broker(), table(topic("later"), counter=3))
    yield Ask("client", ROUTE, {"topic": "later"})
    yield Ask("master", REGISTER, broker(compressed="true"), compressed_table(*TOPICS, topic("zipped"), counter=4))
    yield Ask("client", ALL_TOPICS)
    yield Ask("client", ROUTE, {"topic": "zipped"})
    yield Ask("master", REGISTER, broker(), table(*TOPICS, counter=5, filters=["127.0.0.1:1", "127.0.0.1:2"]))
    yield Ask("client", ROUTE, {"topic": "orders"})
    yield Ask("master", REGISTER, broker(), table(*TOPICS, counter=5))
    yield Ask("client", ROUTE, {"topic": "orders"})
    yield Ask("master", REGISTER, broker())
    yield Ask("client", ALL_TOPICS)

    queues = {"brokerName": "broker-a", "readQueueNums": 3, "writeQueueNums": 2, "perm": 6, "topicSysFlag": 0}
    route = {"brokerDatas": [], "filterServerTable": {}, "queueDatas": [queues]}
    yield Ask("client", REGISTER_TOPIC, {"topic": "by hand"}, json.dumps(route).encode())
    yield Ask("client", ROUTE, {"topic": "by hand"})
    stranger = {**route, "queueDatas": [{**queues, "brokerName": "none"}]}
    yield Ask("client", REGISTER_TOPIC, {"topic": "of a stranger"}, json.dumps(stranger).encode())
    yield Ask("client", ROUTE, {"topic": "of a stranger"})
    yield Ask("client", DELETE_TOPIC, {"topic": "by hand"})
    yield Ask("client", ROUTE, {"topic": "by hand"})


def a_slave_comes_and_the_master_goes() -> Iterator[Step]:
    yield Ask("slave", REGISTER, broker(port=20911, broker_id=1), table(*TOPICS, topic("of the slave")))
    yield Ask("client", CLUSTERS)
    yield Ask("client", ROUTE, {"topic": "orders"})
    yield Ask("client", ROUTE, {"topic": "of the slave"})
    yield Ask("client", MEMBERS, {"clusterName": "C1", "brokerName": "broker-a"})
    yield Close("master")
    yield Ask("client", CLUSTERS)
    yield Ask("client", ROUTE, {"topic": "orders"})
    yield Close("slave")
    yield Ask("client", CLUSTERS)
    yield Ask("client", ALL_TOPICS)
    yield Ask("client", ROUTE, {"topic": "orders"})


def slaves_act_as_masters() -> Iterator[Step]:
    yield Ask("master", REGISTER, broker(may_act=True), table(*TOPICS))
    yield Ask("slave", REGISTER, broker(port=20911, broker_id=1, may_act=True), table(*TOPICS))
    yield Ask("second slave", REGISTER, broker(port=30911, broker_id=2, may_act=True), table(*TOPICS))
    yield Ask("client", ROUTE, {"topic": "orders"})
    yield Ask("master", UNREGISTER, broker())
    yield Settle()
    yield Ask("client", ROUTE, {"topic": "orders"})
    more = table(*TOPICS, topic("new"), counter=2)
    yield Ask("second slave", REGISTER, broker(port=30911, broker_id=2, may_act=True), more)
    yield Ask("client", ROUTE, {"topic": "new"})
    yield Ask("slave", REGISTER, broker(port=20911, broker_id=1, may_act=True), more)
    yield Ask("client", ROUTE, {"topic": "new"})
    yield Ask("client", ROUTE, {"topic": "orders"})
    yield Ask("slave", REGISTER, broker(port=20911, broker_id=0, may_act=True), table(*TOPICS, counter=3))
    yield Ask("client", CLUSTERS)
    yield Ask("client", ROUTE, {"topic": "orders"})
    for connection in ("master", "slave", "second slave"):
        yield Close(connection)
    yield Ask("client", CLUSTERS)


def brokers_take_each_others_seats() -> Iterator[Step]:
    first, second = broker(port=20911), broker(port=40911)
    yield Ask("first", REGISTER, first, table(*TOPICS, state=1))
    yield Ask("second", REGISTER, second, table(*TOPICS, state=0))
    yield Ask("client", CLUSTERS)
    yield Ask("second", REGISTER, second, table(*TOPICS, state=2))
    yield Ask("client", CLUSTERS)
    yield Ask("first", REGISTER, first, table(*TOPICS, state=1))
    yield Ask("client", CLUSTERS)
    yield Close("second")
    yield Ask("client", CLUSTERS)
    yield Ask("first", REGISTER, first, table(*TOPICS, state=1))
    yield Ask("again", REGISTER, first, table(*TOPICS, state=1))
    yield Close("first")
    yield Ask("client", CLUSTERS)
    yield Close("again")
    yield Ask("client", CLUSTERS)


def two_clusters() -> Iterator[Step]:
    yield Ask("a", REGISTER, broker(), table(*TOPICS))
    yield Ask("b", REGISTER, broker("broker-b", 50911, clusterName="C2"), table(*TOPICS, topic("of b")))
    for code in (CLUSTERS, ALL_TOPICS):
        yield Ask("client", code)
    yield Ask("client", CLUSTER_TOPICS, {"cluster": "C1"})
    yield Ask("client", CLUSTER_TOPICS, {"cluster": "C2"})
    yield Ask("client", ROUTE, {"topic": "orders"})
    yield Ask("client", DELETE_TOPIC, {"topic": "orders", "clusterName": "C2"})
    yield Ask("client", ROUTE, {"topic": "orders"})
    yield Ask("client", DELETE_TOPIC, {"topic": "orders", "clusterName": "C1"})
    yield Ask("client", ROUTE, {"topic": "orders"})
    yield Ask("a", REGISTER, broker(), table(*TOPICS))
    yield Ask("client", ROUTE, {"topic": "orders"})
    yield Close("b")
    yield Ask("client", CLUSTERS)
    yield Ask("client", ALL_TOPICS)
    yield Close("a")
    yield Ask("client", ALL_TOPICS)


def zones_and_static_topics() -> Iterator[Step]:
    mapping = {
        "bname": "broker-a",
        "currIdMap": {"0": 0, "1": 1},
        "dirty": False,
        "epoch": 5,
        "scope": "__global__",
        "topic": "static",
        "totalQueues": 2,
    }
    body = table(*TOPICS, topic("static"), mappings={"static": mapping})
    unquoted = body.replace(b'"0": 0', b"0: 0").replace(b'"1": 1', b"1: 1")
    yield Ask("a", REGISTER, broker(zone="north"), unquoted)
    yield Ask("b", REGISTER, broker("broker-b", 50911, zone="south"), table(*TOPICS))
    yield Ask("client", ROUTE, {"topic": "static"})
    yield Ask("client", ROUTE, {"topic": "static"}, version=OLD_CLIENT_VERSION)
    yield Ask("client", ROUTE, {"topic": "orders"})
    yield Ask("client", ROUTE, {"topic": "orders", "__ZONE_MODE": "true", "__ZONE_NAME": "North"})
    yield Ask("client", ROUTE, {"topic": "orders", "__ZONE_MODE": "true", "__ZONE_NAME": "east"})
    yield Ask("client", ROUTE, {"topic": "orders", "__ZONE_MODE": "false", "__ZONE_NAME": "south"})
    yield Close("a")
    yield Close("b")
    yield Ask("client", CLUSTERS)


def settings_change() -> Iterator[Step]:
    yield Ask("a", REGISTER, broker(), table(*TOPICS))
    yield Ask("client", CHANGE_SETTINGS, body=b"enableTopicList=false\nenableAllTopicList=false\nnonsense=1\n")
    for code in (ALL_TOPICS, SYSTEM_TOPICS, UNITS, UNIT_SUBS, UNIT_SUBS_ONLY):
        yield Ask("client", code)
    yield Ask("client", CLUSTER_TOPICS, {"cluster": "C1"})
    yield Ask("client", CHANGE_SETTINGS, body=b"# comment\nenableTopicList=true\nenableAllTopicList=true\n")
    yield Ask("client", ALL_TOPICS)
    yield Ask("client", CHANGE_SETTINGS, body=b"orderMessageEnable=true\nreturnOrderTopicConfigToBroker=false\n")
    yield Ask("client", ROUTE, {"topic": "orders"})
    yield Ask("client", ROUTE, {"topic": "invoices"})
    yield Ask("a", REGISTER, broker(), table(*TOPICS))
    yield Ask("client", CHANGE_SETTINGS, body=b"kvConfigPath=/elsewhere")
    yield Ask("client", CHANGE_SETTINGS)
    yield from a_slave_is_shown_as_the_master()


def a_slave_is_shown_as_the_master() -> Iterator[Step]:
    yield Ask("client", CHANGE_SETTINGS, body=b"supportActingMaster=true")
    yield Ask("a", REGISTER, broker(may_act=True), table(*TOPICS, counter=2))
    yield Ask("slave", REGISTER, broker(port=20911, broker_id=1, may_act=True), table(*TOPICS))
    yield Ask("second slave", REGISTER, broker(port=30911, broker_id=2, may_act=True), table(*TOPICS))
    yield Close("a")
    yield Ask("client", ROUTE, {"topic": "orders"})
    yield Ask("client", CLUSTERS)
