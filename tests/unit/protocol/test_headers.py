"""Fields of requests: strings in, values out, and errors that name the field."""

import importlib
import pkgutil

import pytest
from msgspec import Struct

from escrowmq.errors import BadHeader
from escrowmq.protocol import headers
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.encoding import encode_header
from escrowmq.protocol.headers.get_route_info import GetRouteInfo
from escrowmq.protocol.headers.register_broker import RegisterBroker

FIELDS = {
    "brokerName": "broker-a",
    "brokerAddr": "127.0.0.1:10911",
    "clusterName": "C1",
    "haServerAddr": "127.0.0.1:10912",
    "brokerId": "9223372036854775807",
}


def header_types() -> list[type[Struct]]:
    modules = [
        importlib.import_module(f"{headers.__name__}.{found.name}") for found in pkgutil.iter_modules(headers.__path__)
    ]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Struct) and value.__module__ == module.__name__
    ]


@pytest.mark.parametrize("kind", header_types(), ids=lambda kind: str(kind.__name__))
def test_every_request_names_its_first_missing_field(kind: type[Struct]) -> None:
    first = kind.__struct_encode_fields__[0]
    with pytest.raises(BadHeader, match=f"^the custom field <{first}> is null$") as refused:
        decode_header(kind, {})
    assert refused.value.field == first


def test_what_is_written_is_read_and_what_says_nothing_is_left_out() -> None:
    header = GetRouteInfo("orders", accepts_strict_json_only=True, zone="north")
    fields = encode_header(header)
    assert fields == {"topic": "orders", "acceptStandardJsonOnly": "true", "__ZONE_NAME": "north"}
    assert decode_header(GetRouteInfo, fields) == header


def test_values_have_their_types() -> None:
    header = decode_header(RegisterBroker, {**FIELDS, "compressed": "TRUE", "enableActingMaster": "false", "more": "x"})
    assert header.broker_id == 2**63 - 1
    assert header.is_compressed is True
    assert header.may_act_as_master is False
    assert header.heartbeat_timeout_ms is None


@pytest.mark.parametrize(
    "number", ["", "1.5", "0x10", "9223372036854775808", "--1", "٣", "9" * 100_000], ids=lambda number: str(number[:30])
)
def test_a_number_that_is_none_is_refused(number: str) -> None:
    with pytest.raises(BadHeader, match="the custom field <brokerId> is"):
        decode_header(RegisterBroker, {**FIELDS, "brokerId": number})


@pytest.mark.parametrize(("mode", "zone", "wanted"), [("true", "n", True), ("true", " ", False), ("no", "n", False)])
def test_a_zone_counts_where_zones_are_asked_for(mode: str, zone: str, *, wanted: bool) -> None:
    header = decode_header(GetRouteInfo, {"topic": "orders", "__ZONE_MODE": mode, "__ZONE_NAME": zone})
    assert header.wants_zone is wanted
