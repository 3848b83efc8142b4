"""How queues are divided, held against RocketMQ's own strategies."""

import gzip
import json
from pathlib import Path

import pytest

from escrowmq.client.consumer.allocation import AVG, AVG_BY_CIRCLE, CONSISTENT_HASH, Strategy, allocate
from escrowmq.model.message_queue import MessageQueue

RECORDED = Path(__file__).parent / "data" / "allocation.jsonl.gz"


@pytest.mark.parametrize("strategy", [AVG, AVG_BY_CIRCLE, CONSISTENT_HASH], ids=lambda strategy: strategy.name)
def test_a_member_gets_the_queues_that_rocketmq_gives_it(strategy: Strategy) -> None:
    cases = [
        row
        for row in map(json.loads, gzip.decompress(RECORDED.read_bytes()).splitlines())
        if row["strategy"] == strategy.name
    ]
    assert len(cases) == 23
    for case in cases:
        queues = [MessageQueue(f"broker-{'ab'[index % 2]}", index // 2, "orders") for index in range(case["queues"])]
        members = [f"10.0.0.{index + 1}@{1_000 + index * 7}#{99_991 * (index + 1)}" for index in range(case["members"])]
        got = allocate(strategy, case["member"], queues[::-1], members[::-1])
        assert [f"{queue.broker_name}:{queue.queue_id}" for queue in got] == case["gets"]
