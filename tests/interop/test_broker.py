"""Our broker under a real Apache name server, beside a real Apache broker; Java's client and mqadmin work with it."""

import base64
import re
from pathlib import Path

import pytest
from tests.compat.asking import send
from tests.compat.broker_process import Client, ServerProcess
from tests.interop.apache import BROKER_NAME, CLUSTER_NAME, Apache
from tests.interop.installation import Installation

pytestmark = pytest.mark.timeout(600)

TOPIC = "payments"
OURS = "broker-ours"


def brokers(apache: Apache) -> set[str]:
    """The brokers that Apache's name server knows, as mqadmin lists them."""
    return set(re.findall(rf"^{CLUSTER_NAME} +(\S+) +0 ", apache.admin("clusterList"), re.MULTILINE))


@pytest.mark.short
def test_our_broker_serves_javas_clients_under_apaches_name_server(installation: Installation, tmp_path: Path) -> None:
    """It registers, an operator makes a topic on it, a message per queue is read by Java, and it unregisters."""
    with Apache(installation, tmp_path / "store", scratch=tmp_path) as apache:
        options = (f"--name={OURS}", "--port=0", f"--namesrv={apache.name_server_address}")
        with ServerProcess("broker", tmp_path / "ours", *options) as ours:
            apache.admin("updateTopic", "-b", ours.broker, "-t", TOPIC, "-r", "4", "-w", "4")
            sent = {f"message {number}" for number in range(20)}
            with Client(ours.broker) as client:
                for number, body in enumerate(sorted(sent)):
                    send(client, TOPIC, body.encode(), queue_id=number % 4)
            assert {base64.b64decode(row["body"]).decode() for row in apache.dump(TOPIC)} == sent
            status = apache.admin("topicStatus", "-t", TOPIC)
            assert re.findall(rf"^{OURS} +(\d) +0 +5 ", status, re.MULTILINE) == ["0", "1", "2", "3"]
            assert ours.stop() == 0
        assert OURS not in brokers(apache)
        assert BROKER_NAME in brokers(apache)
