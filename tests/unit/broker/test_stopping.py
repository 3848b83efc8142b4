"""A broker that stops: what one step fails to do keeps none of the others from being done."""

from pathlib import Path

import pytest
from tests.unit.broker_server.broker import ask
from tests.unit.server.peer import Peer

from escrowmq import Frame, Store
from escrowmq.broker.app import Broker
from escrowmq.broker_config import BrokerConfig, StoreConfig
from escrowmq.errors import StoreError
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.testing.serving_thread import ServingThread

STORE = StoreConfig(segment_size_bytes=1 << 20, disk_clean_ratio=1.0, disk_force_ratio=1.0, disk_refuse_ratio=1.0)
WANTS_BY_PROPERTY = b"""{"clientID":"c1","consumerDataSet":[{"groupName":"all","consumeType":"CONSUME_PASSIVELY",
"messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","subscriptionDataSet":[
{"topic":"TBW102","subString":"a > 1","subVersion":5,"expressionType":"SQL92"}]}],"producerDataSet":[]}"""
COMMIT = {"consumerGroup": "all", "topic": "TBW102", "queueId": "0", "commitOffset": "7"}


def test_offsets_that_cannot_be_saved_keep_nothing_else_from_being_saved(tmp_path: Path) -> None:
    thread = ServingThread()
    broker = thread.call(lambda: Broker(BrokerConfig(port=0, has_property_filters=True), STORE, data=tmp_path))
    thread.call(lambda: thread.add(broker))
    with Peer(broker.advertised) as peer:
        peer.send(Frame(RequestCode.HEART_BEAT, language="JAVA", version=513, body=WANTS_BY_PROPERTY))
        assert len(peer.receive(2)) == 2
        ask(peer, Frame(RequestCode.UPDATE_CONSUMER_OFFSET, ext_fields=COMMIT))
    thread.call(lambda: thread.remove(broker))
    in_the_way = tmp_path / "config" / "consumerOffset.json"
    in_the_way.mkdir()
    with pytest.raises(StoreError, match="consumerOffset"):
        thread.call(broker.close)
    thread.close()
    assert "a > 1" in (tmp_path / "config" / "consumerFilter.json").read_text(encoding="utf-8")
    Store.open(tmp_path, disk_clean_ratio=1.0, disk_force_ratio=1.0, disk_refuse_ratio=1.0).close()
