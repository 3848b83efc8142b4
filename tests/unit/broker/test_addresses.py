"""Where a broker is, and where its name servers are."""

import socket
import time

import pytest

from escrowmq.broker import addresses
from escrowmq.broker.addresses import Place, Resolver
from escrowmq.broker_config import BrokerConfig
from escrowmq.errors import ConfigError

PATIENCE_S = 20.0


def test_a_broker_listens_at_its_port_and_two_below() -> None:
    assert addresses.choose(BrokerConfig()) == Place(
        ["127.0.0.1:10911", "127.0.0.1:10909"], "127.0.0.1", 10_911, "127.0.0.1:10911", "127.0.0.1:10912"
    )
    place = addresses.choose(BrokerConfig(host="::", advertise="fd00::1", port=20_911))
    assert (place.listen, place.advertised) == (["[::]:20911", "[::]:20909"], "[fd00::1]:20911")


def test_a_broker_that_listens_everywhere_has_to_say_where_it_is() -> None:
    with pytest.raises(ConfigError, match=r"set broker\.advertise too"):
        addresses.choose(BrokerConfig(host="0.0.0.0"))  # noqa: S104


def test_a_free_port_is_found() -> None:
    place = addresses.choose(BrokerConfig(port=0))
    port = int(place.advertised.rpartition(":")[2])
    assert place.listen == [f"127.0.0.1:{port}", f"127.0.0.1:{port - 2}"]


def resolved(resolver: Resolver, address: str) -> str:
    """Asks until the answer is there."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := resolver(address)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return found


def test_names_are_looked_up_and_numbers_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def look_up(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        if host == "nowhere":
            raise socket.gaierror(-2, "Name or service not known")
        both = (socket.AF_INET6, ("fd00::7", port)), (socket.AF_INET, ("192.0.2.7", port))
        return [(family, socket.SOCK_STREAM, 6, "", where) for family, where in both]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    resolver = Resolver()
    assert resolver("192.0.2.1:9876") == "192.0.2.1:9876"
    assert resolver("[::1]:9876") == "[::1]:9876"
    assert resolved(resolver, "somewhere:9876") == "192.0.2.7:9876"
    assert asked == ["somewhere"]
    with pytest.raises(OSError, match="not known"):
        resolved(resolver, "nowhere:9876")
    assert resolved(resolver, "somewhere:9876") == "192.0.2.7:9876"
    assert asked == ["somewhere", "nowhere", "somewhere"]


def test_name_servers_are_hosts_with_ports() -> None:
    fine = ["127.0.0.1:9876", "[::1]:9876", "namesrv.example.org:1"]
    assert addresses.name_servers(BrokerConfig(name_servers=fine)) == fine


@pytest.mark.parametrize(
    "address", ["foo", "foo:", ":9876", "[]:9876", "foo:bar", "foo:0", "foo:65536", "foo:²", "::1:9876"]
)
def test_a_name_server_without_host_or_port_is_refused(address: str) -> None:
    with pytest.raises(ConfigError) as refused:
        addresses.name_servers(BrokerConfig(name_servers=["127.0.0.1:9876", address]))
    assert str(refused.value) == f"the name server {address!r} is not HOST:PORT"
