"""Timers under load in a broker that is killed again and again: nothing is lost, nothing early, nothing twice.

A client sends messages that are due within seconds for as long as the broker lives; SIGKILL comes at any moment, in the
middle of sends, of deliveries or of the start. What is unacknowledged may come or not. `ESCROWMQ_KILLS` says how often,
and `ESCROWMQ_SEED` at which moments; what is printed with a failure names it.
"""

import os
import random
import threading
import time
from pathlib import Path

import pytest
from tests.compat.asking import pull
from tests.compat.broker_process import Client, ServerProcess
from tests.compat.timed import QUEUES, TOPIC, Ledger, delivered, wall_ms
from tests.unit.broker.desk import heartbeat

from escrowmq.protocol.request_codes import RequestCode

KILLS = int(os.environ.get("ESCROWMQ_KILLS", "8"))
PATIENCE_S = 60
SEED = int(os.environ.get("ESCROWMQ_SEED", "20261118"))
POLL_S = 0.05
# Slots of a tenth of a second, that messages go round by the timer topic soon: all of it happens in a short life.
OPTIONS = ("--port=0", "--set=broker.timer_precision_ms=100", "--set=broker.timer_roll_window_slots=12")
DELAYS_MS = (1, 90, 250, 700, 1_500, 3_000, 5_000)


class Load:
    """A thread that sends until the broker is gone."""

    def __init__(self, address: str, ledger: Ledger, *, seed: int) -> None:
        self._address = address
        self._ledger = ledger
        self._chance = random.Random(seed)
        self._seed = seed
        self._thread = threading.Thread(target=self._send)
        self._thread.start()

    def _send(self) -> None:
        number = 0
        try:
            with Client(self._address) as client:
                while True:
                    self._ledger.send(client, f"{self._seed}-{number}", self._chance.choice(DELAYS_MS))
                    number += 1
        except OSError:
            return

    def join(self) -> None:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


def await_all(address: str, ledger: Ledger) -> None:
    """Returns when everything is due, and everything that was acknowledged has come."""
    missing, next_offsets = set(ledger.acknowledged), dict.fromkeys(range(QUEUES), 0)
    with Client(address) as client:
        client.ask(RequestCode.HEART_BEAT, body=heartbeat("waiting", "readers", {TOPIC: ()}))
        while missing or wall_ms() <= ledger.last_due_ms():
            for queue_id, offset in next_offsets.items():
                bodies = pull(client, "readers", TOPIC, offset=offset, queue_id=queue_id)
                next_offsets[queue_id] += len(bodies)
                missing -= {body.decode() for body in bodies}
            time.sleep(POLL_S)


@pytest.mark.timeout(60 + 15 * KILLS)
@pytest.mark.parametrize("flush", ["sync", "async"])
def test_timers_come_once_and_in_time_however_often_the_broker_is_killed(tmp_path: Path, flush: str) -> None:
    ledger, store, chance = Ledger(), tmp_path / "store", random.Random(SEED)
    print(f"seed {SEED}")
    options = (*OPTIONS, f"--set=store.flush={flush}")
    for kill in range(KILLS):
        with ServerProcess("broker", store, *options) as broker:
            load = Load(broker.broker, ledger, seed=kill)
            time.sleep(chance.uniform(0.0, 2.0))
            broker.process.kill()
            load.join()
    with ServerProcess("broker", store, *options) as broker:
        await_all(broker.broker, ledger)
        assert broker.stop() == 0
    records = delivered(store)
    assert len(ledger.acknowledged) > KILLS
    again = ledger.check(records)
    print(f"{KILLS} kills, {len(ledger.acknowledged)} acknowledged, {len(records)} delivered, {again} again")
    assert again == 0
