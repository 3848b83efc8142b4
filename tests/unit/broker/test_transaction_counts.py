"""transactionMetrics: written so that Apache's broker goes on counting, and only when it says something new."""

import json
from pathlib import Path

import pytest
from tests.compat.transacting import COMMIT, TransactionPeer

from escrowmq.broker.app import Broker
from escrowmq.broker.transaction_counts import save_counts
from escrowmq.broker_config import BrokerConfig, StoreConfig
from escrowmq.testing.serving_thread import ServingThread

STORE = StoreConfig(segment_size_bytes=1 << 20, disk_clean_ratio=1.0, disk_force_ratio=1.0, disk_refuse_ratio=1.0)
APACHE = json.dumps(
    {
        "dataVersion": {"counter": 7, "stateVersion": 0, "timestamp": 5},
        "transactionCount": {"orders": {"count": 3, "timeStamp": 4}},
    }
)


class Text:
    """A file in memory."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def load(self) -> str | None:
        return self.text

    def save(self, text: str, /) -> None:
        self.text = text


def test_what_apache_s_broker_wrote_is_replaced_by_what_is_pending() -> None:
    file = Text(APACHE)
    save_counts(file, {"payments": 2}, now_ms=9)
    assert json.loads(file.text or "") == {
        "dataVersion": {"counter": 8, "stateVersion": 0, "timestamp": 9},
        "transactionCount": {"payments": {"count": 2, "timeStamp": 9}},
    }


def test_the_same_again_is_not_written() -> None:
    file = Text(APACHE)
    save_counts(file, {"orders": 3}, now_ms=9)
    assert file.text == APACHE


@pytest.mark.parametrize("text", [None, "[]", '{"transactionCount":{"orders":3}}'])
def test_a_file_that_is_none_is_replaced(text: str | None) -> None:
    file = Text(text)
    save_counts(file, {}, now_ms=9)
    assert json.loads(file.text or "")["transactionCount"] == {}


def test_a_broker_that_stops_writes_how_many_are_pending(tmp_path: Path) -> None:
    thread = ServingThread()
    broker = thread.call(lambda: Broker(BrokerConfig(port=0), STORE, data=tmp_path))
    thread.call(lambda: thread.add(broker))
    with TransactionPeer(broker.advertised) as producer:
        producer.prepare("A")
        producer.end(producer.prepare("B"), COMMIT)
    thread.call(lambda: thread.remove(broker))
    thread.call(broker.close)
    thread.close()
    written = json.loads((tmp_path / "config" / "transactionMetrics").read_text())
    assert written["transactionCount"]["orders"]["count"] == 1
