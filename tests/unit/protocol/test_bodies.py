"""Bodies of requests and answers, in both kinds of JSON and compressed."""

import contextlib
import json
import struct
import time
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.golden.name_server_conversation import TOPICS, compressed_table, table

from escrowmq.errors import BadBody
from escrowmq.model.data_version import DataVersion
from escrowmq.model.route import BrokerData, QueueData, TopicRouteData
from escrowmq.protocol import fastjson
from escrowmq.protocol.bodies import register_broker
from escrowmq.protocol.bodies.register_broker import decode_register_broker
from escrowmq.protocol.bodies.topic_route import decode_topic_route, encode_topic_route

names = some.text(max_size=20)
routes = some.builds(
    TopicRouteData,
    brokers=some.lists(
        some.builds(
            BrokerData,
            addresses=some.dictionaries(some.integers(0, 2**63 - 1), names, max_size=3),
            name=names,
            cluster=names,
            may_act_as_master=some.booleans(),
            zone=some.none() | names,
        ),
        max_size=3,
    ),
    filter_servers=some.dictionaries(names, some.lists(names, max_size=2), max_size=2),
    queues=some.lists(
        some.builds(
            QueueData,
            broker_name=names,
            permissions=some.integers(0, 15),
            read_queues=some.integers(0, 1_000),
            system_flag=some.integers(0, 3),
            write_queues=some.integers(0, 1_000),
        ),
        max_size=3,
    ),
    order_config=some.none() | names,
    queue_mappings=some.none(),
)


@given(route=routes, version=some.sampled_from([300, 400, 401, 513]), strict_only=some.booleans())
def test_a_route_comes_back_whatever_the_version_of_its_reader(
    route: TopicRouteData, version: int, *, strict_only: bool
) -> None:
    body = encode_topic_route(route, version=version, accepts_strict_json_only=strict_only)
    assert decode_topic_route(body) == route
    if version >= 401 or strict_only:
        json.loads(body)


def test_only_keys_that_are_numbers_lose_their_quotes() -> None:
    """A broker may be named 0, and a name may look like a key."""
    broker = BrokerData({0: '{1:"x"}', 12: ",2:"}, name="0", cluster="3", may_act_as_master=False)
    body = fastjson.encode({"0": broker})
    assert body == (
        b'{"0":{"brokerAddrs":{0:"{1:\\"x\\"}",12:",2:"},"brokerName":"0","cluster":"3","enableActingMaster":false}}'
    )
    assert fastjson.decode(body, dict[str, BrokerData]) == {"0": broker}


@given(some.binary())
def test_bytes_that_are_no_json_are_refused(data: bytes) -> None:
    with contextlib.suppress(BadBody):
        assert isinstance(fastjson.decode(data, DataVersion), DataVersion)


@pytest.mark.parametrize(
    "part", [b'\\"', b'"', b'"\\', b"{1:", b", ", b",1 ", b"[", b'{"a":', b"9"], ids=lambda part: str(part.decode())
)
def test_a_large_body_of_nonsense_takes_no_longer_than_a_large_body(part: bytes) -> None:
    """A reader that goes back over what it read would take hours for four million bytes."""
    started = time.process_time()
    with pytest.raises(BadBody):
        decode_topic_route(b'{"' + part * (4_000_000 // len(part)))
    with pytest.raises(BadBody):
        decode_topic_route(part * (4_000_000 // len(part)))
    assert time.process_time() - started < 10


@pytest.mark.parametrize("version", [401, 513])
def test_a_compressed_registration_says_the_same_as_a_plain_one(version: int) -> None:
    """Before 5.0 no mappings stand at its end; what stands there is not looked at."""
    plain = decode_register_broker(table(*TOPICS, counter=4), is_compressed=False, version=version)
    packed = decode_register_broker(compressed_table(*TOPICS, counter=4), is_compressed=True, version=version)
    assert packed.table.data_version == plain.table.data_version == DataVersion(4, 0, 1_000)
    assert set(packed.table.topics) == set(plain.table.topics)
    for name, topic in packed.table.topics.items():
        # Compat: the compressed form has no place for a topic's system flag.
        assert topic.system_flag == 0
        assert (topic.read_queues, topic.permissions) == (
            plain.table.topics[name].read_queues,
            plain.table.topics[name].permissions,
        )


def piece(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        struct.pack(">i", -1),
        struct.pack(">i", 2**31 - 1),
        piece(b"{}") + struct.pack(">i", 2**31 - 1),
        piece(b"{}") + struct.pack(">i", 1) + piece(b"orders 4"),
        piece(b"{}") + struct.pack(">i", 1) + piece(b"orders four 4 6 SINGLE_TAG"),
        piece(b"{}") + struct.pack(">i", 1) + piece(b"\xff 4 4 6 SINGLE_TAG"),
        piece(b"{}") + struct.pack(">i", 0) + piece(b"[1]"),
        piece(b"{}") + struct.pack(">i", 0) + piece(b"[]") + struct.pack(">i", 1),
    ],
)
def test_a_compressed_registration_that_lies_is_refused(data: bytes) -> None:
    with pytest.raises(BadBody):
        decode_register_broker(zlib.compress(data), is_compressed=True, version=513)


def test_a_small_body_that_would_fill_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(register_broker, "INFLATED_SIZE_MAX_BYTES", 1_000)
    bomb = zlib.compress(bytes(1_001))
    with pytest.raises(BadBody, match="more than 1000 bytes"):
        decode_register_broker(bomb, is_compressed=True, version=513)


def test_a_truncated_compressed_body_is_refused() -> None:
    with pytest.raises(BadBody):
        decode_register_broker(compressed_table(*TOPICS, counter=4)[:-20], is_compressed=True, version=513)
