"""A real Apache broker registers with our name server; Java clients and mqadmin find their way through it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compat.name_server_process import NameServerProcess, RawClient, await_value
from tests.golden.name_server_conversation import ALL_TOPICS, CLUSTERS, ROUTE
from tests.interop.apache import BROKER_NAME, CLUSTER_NAME, Apache
from tests.interop.installation import Installation
from tests.unit.namesrv.desk import fastjson_value

from escrowmq.protocol.response_codes import ResponseCode

pytestmark = pytest.mark.timeout(600)

TOPIC = "orders"
NOBODY: object = {"brokerAddrTable": {}, "clusterAddrTable": {}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NameServerProcess]:
    with NameServerProcess(tmp_path / "namesrv") as process:
        yield process


@pytest.fixture
def client(server: NameServerProcess) -> Iterator[RawClient]:
    with RawClient(server.host_and_port) as connection:
        yield connection


def clusters(client: RawClient) -> object:
    return fastjson_value(bytes(client.ask(CLUSTERS).body))


def has_route(client: RawClient) -> bool:
    return client.ask(ROUTE, {"topic": TOPIC}).code == ResponseCode.SUCCESS


def test_java_clients_and_mqadmin_find_apaches_broker_through_our_name_server(
    server: NameServerProcess, client: RawClient, installation: Installation, tmp_path: Path
) -> None:
    """The broker registers, sends and pulls go to it, a topic is made, shown, closed for writes and forgotten."""
    with Apache(installation, tmp_path / "store", scratch=tmp_path, name_server_address=server.address) as broker:
        sent = broker.produce(TOPIC, rounds=2, prefix="through-ours")
        received = broker.dump(TOPIC)
        visible = {row["body"] for row in sent if row["kind"] not in {"rollback", "unknow"}}
        assert visible
        assert {row["body"] for row in received} == visible

        assert re.search(rf"^{CLUSTER_NAME} +{BROKER_NAME} +0 ", broker.admin("clusterList"), re.MULTILINE)
        listed = set(broker.admin("topicList").split())
        assert {TOPIC, "TBW102", BROKER_NAME, CLUSTER_NAME} <= listed
        assert {*fastjson_value(bytes(client.ask(ALL_TOPICS).body))["topicList"]} == listed
        route = broker.admin("topicRoute", "-t", TOPIC)
        assert f'"brokerName":"{BROKER_NAME}"' in re.sub(r"\s", "", route)
        assert "enableTopicList" in broker.admin("getNamesrvConfig")

        broker.kill()
        await_value(lambda: clusters(client), NOBODY)
        assert not has_route(client)


@pytest.mark.short
def test_apaches_broker_registers_compressed_and_unregisters_when_it_stops(
    server: NameServerProcess, client: RawClient, installation: Installation, tmp_path: Path
) -> None:
    with Apache(
        installation,
        tmp_path / "store",
        scratch=tmp_path,
        name_server_address=server.address,
        options={"compressedRegister": "true"},
    ) as broker:
        assert client.ask(ROUTE, {"topic": "TBW102"}).code == ResponseCode.SUCCESS
        broker.stop()
        assert clusters(client) == NOBODY
        assert server.log.count("broker gone") == 0
