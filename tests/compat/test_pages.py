"""/metrics, /healthz and /readyz of running servers."""

import re
from http.client import HTTPConnection
from pathlib import Path

from tests.compat.broker_process import Client, ServerProcess
from tests.compat.name_server_process import await_value
from tests.unit.server.peer import PATIENCE_S

BROKER = 'cluster="DefaultCluster",node_id="broker-a",node_type="broker"'


def addresses(said: str) -> list[str]:
    """Where a command says that its pages are."""
    return re.findall(r"^metrics at http://(\S+)/metrics$", said, flags=re.MULTILINE)


def page(address: str, path: str) -> tuple[int, str]:
    connection = HTTPConnection(address, timeout=PATIENCE_S)
    connection.request("GET", path)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found


def test_monitors_see_a_broker_and_a_name_server(tmp_path: Path) -> None:
    config = tmp_path / "escrowmq.toml"
    config.write_text("[namesrv]\nmetrics_port = 0\n")
    options = (f"--config={config}", "--metrics-port=0", "--port=0", "--namesrv-port=0")
    with ServerProcess("up", tmp_path / "data", *options) as server:
        broker, name_server = addresses(server.said)
        for address in (broker, name_server):
            assert page(address, "/healthz") == (200, "alive\n")
            assert page(address, "/readyz") == (200, "ready\n")
        with Client(server.broker):
            status, text = page(broker, "/metrics")
        assert status == 200
        assert f"rocketmq_broker_permission{{{BROKER}}} 6.0\n" in text
        assert "process_resident_memory_bytes" in text
        registered = f'escrowmq_registered_brokers{{node_id="{server.name_server}",node_type="nameserver"}} 1.0\n'
        await_value(lambda: registered in page(name_server, "/metrics")[1], expected=True)
        assert server.stop() == 0


def test_nothing_is_shown_unless_it_was_asked_for(tmp_path: Path) -> None:
    with ServerProcess("up", tmp_path / "data", "--port=0", "--namesrv-port=0") as server:
        assert addresses(server.said) == []


def test_a_port_that_is_taken_is_refused_in_words(tmp_path: Path) -> None:
    with ServerProcess("up", tmp_path / "one", "--metrics-port=0", "--port=0", "--namesrv-port=0") as server:
        port = addresses(server.said)[0].rpartition(":")[2]
        with ServerProcess("broker", tmp_path / "other", f"--metrics-port={port}", "--port=0") as refused:
            assert refused.process.wait(PATIENCE_S) == 1
            assert f"Error: pages can't be served on 127.0.0.1:{port}: Address already in use" in refused.log
