"""SIGKILL while messages are delayed, retried and given up, while timers run, and while offsets are committed.

A broker is killed again and again at random moments, each life on what the one before left. In the end nothing that it
acknowledged is lost, nothing came early, and no offset was ever ahead of what was consumed. What was delivered again
is counted and printed. ESCROWMQ_KILLS=50 kills fifty times in each mode of flushing.
"""

import os
import random
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.compat.broker_process import Client, ServerProcess
from tests.compat.timed import delivered
from tests.crash.workload import DEAD_LETTERS, LATER, LEVELS, RETRIES, Workload

from escrowmq import Record, Store
from escrowmq.broker.delivery.levels import DelayLevels, queue_of
from escrowmq.model.names import SCHEDULE_TOPIC
from escrowmq.protocol import fastjson
from escrowmq.protocol.bodies.delay_offsets import DelayOffsets
from escrowmq.protocol.request_codes import RequestCode

KILLS = int(os.environ.get("ESCROWMQ_KILLS", "3"))
DELAY_LEVELS = "1s 1s 2s"
SETTINGS = (
    "--name=broker-a",
    "--port=0",
    f"--set=broker.delay_levels={DELAY_LEVELS}",
    "--set=broker.delay_offsets_interval_ms=50",
    "--set=broker.offsets_interval_ms=20",
    "--set=broker.timer_precision_ms=100",
)
LIFE_S = (0.1, 1.2)
PATIENCE_S = 60


def live_and_die(data: Path, workload: Workload, flush: str) -> None:
    """One life of the broker, ended by SIGKILL wherever it is then."""
    with ServerProcess("broker", data, *SETTINGS, f"--set=store.flush={flush}") as server:
        killer = threading.Timer(workload.chance.uniform(*LIFE_S), server.process.kill)
        try:
            with Client(server.broker) as client:
                assert workload.committed_in_vain(client) == {}
                killer.start()
                workload.work(client)
        except (ConnectionError, TimeoutError):
            assert server.process.wait() == -9, server.log
        finally:
            killer.cancel()


def finish(data: Path, workload: Workload, flush: str) -> None:
    """A last life, in which everything that waits is delivered."""
    with ServerProcess("broker", data, *SETTINGS, f"--set=store.flush={flush}") as server:
        with Client(server.broker) as client:
            assert workload.committed_in_vain(client) == {}
            deadline = time.monotonic() + PATIENCE_S
            while waiting(client) or workload.timers_missing(client):
                assert time.monotonic() < deadline, server.log
                time.sleep(0.05)
        assert server.stop() == 0


def waiting(client: Client) -> int:
    """How many messages wait in the queues of all levels."""
    told = fastjson.decode(client.ask(RequestCode.GET_ALL_DELAY_OFFSET).body, DelayOffsets)
    ends = [
        int(client.ask(RequestCode.GET_MAX_OFFSET, queue_fields(queue_of(level))).ext_fields["offset"])
        for level in LEVELS
    ]
    return sum(ends) - sum(told.offsets.get(level, 0) for level in LEVELS)


def queue_fields(queue_id: int) -> dict[str, str]:
    return {"topic": SCHEDULE_TOPIC, "queueId": str(queue_id)}


def name(record: Record) -> str:
    """Which message it is, and how often it was given back."""
    return f"{record.unique_id} {record.reconsume_times}"


def examine(data: Path, workload: Workload) -> tuple[int, int]:
    """Compares what is stored with what was acknowledged. Returns how many messages and timers were delivered again."""
    delays = DelayLevels.parse(DELAY_LEVELS)
    due_ms: dict[str, int] = {}
    waited: Counter[str] = Counter()
    with Store.open(data, disk_clean_ratio=1.0, disk_force_ratio=1.0, disk_refuse_ratio=1.0) as store:
        for level in LEVELS:
            for record in store.iterate(SCHEDULE_TOPIC, queue_of(level)):
                at_ms = record.store_timestamp_ms + delays.delay_ms(level)
                due_ms[name(record)] = min(at_ms, due_ms.get(name(record), at_ms))
                waited[name(record)] += 1
        records = [record for topic in (LATER, RETRIES) for record in store.iterate(topic, 0)]
        early = [name(record) for record in records if record.store_timestamp_ms < due_ms[name(record)]]
        assert early == []
        arrived = Counter(name(record) for record in records)
        given_up = {name(record) for record in store.iterate(DEAD_LETTERS, 0)}
        assert {f"{key} 0" for key in workload.postponed} - arrived.keys() == set()
        assert workload.given_back - arrived.keys() - given_up == set()
    assert waited.keys() == arrived.keys(), "whatever waits is delivered"
    return arrived.total() - waited.total(), workload.timers.check(delivered(data))


@pytest.mark.timeout(60 + 20 * KILLS)
@pytest.mark.parametrize("flush", ["sync", "async"])
def test_kills_lose_nothing_deliver_nothing_early_and_move_no_offset_ahead(
    tmp_path: Path, flush: str, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = random.randrange(1 << 32)
    workload = Workload(random.Random(seed))
    data = tmp_path / "data"
    try:
        for _ in range(KILLS):
            live_and_die(data, workload, flush)
        finish(data, workload, flush)
        again, timers_again = examine(data, workload)
    except AssertionError as error:
        error.add_note(f"seed {seed}")
        raise
    assert workload.postponed
    assert workload.given_back
    assert workload.timers.acknowledged
    assert timers_again == 0
    with capsys.disabled():
        print(
            f"\n{KILLS} kills, {flush}: {len(workload.postponed)} delayed, {len(workload.given_back)} given back, "
            f"{again} of them delivered again; {len(workload.timers.acknowledged)} timers, {timers_again} again"
        )
