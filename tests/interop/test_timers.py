"""A store with messages that wait for a time of their own moves between EscrowMQ and a real Apache broker, both ways.

However its owner ended, the next one delivers each message once, and none before its time. The wheel is set to go round
early, so that messages are put back into the timer topic on either side.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.compat.broker_process import Client, ServerProcess
from tests.compat.timed import QUEUES, TOPIC, Ledger, delivered, wall_ms
from tests.interop import apache
from tests.interop.apache import Apache, FileSizes
from tests.interop.installation import Installation, install, missing_tools

MISSING = missing_tools()
pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)} on the path, to run Apache RocketMQ"),
]

SIZES = FileSizes(segment_size_bytes=1 << 23, queue_file_entries=1_000, index_slots=1_000, index_entries=4_000)
ROLL_WINDOW_SLOTS = 12
TIMER_LOG_SIZE = 4_096
OURS = (
    "--port=0",
    f"--set=store.queue_file_entries={SIZES.queue_file_entries}",
    f"--set=store.index_slots={SIZES.index_slots}",
    f"--set=store.index_entries={SIZES.index_entries}",
    f"--set=broker.timer_roll_window_slots={ROLL_WINDOW_SLOTS}",
    f"--set=broker.timer_log_file_size_bytes={TIMER_LOG_SIZE}",
)
THEIRS = {"timerRollWindowSlot": str(ROLL_WINDOW_SLOTS), "mappedFileSizeTimerLog": str(TIMER_LOG_SIZE)}

# Some come while the first broker is there, none around its end, most after it, long after some of them.
SOON_MS = range(1_000, 3_500, 250)
LATER_MS = range(11_000, 36_000, 250)
END_AFTER_MS = 7_000
# A slot is delivered with the tick that ends it, and both brokers need a moment.
GRACE_MS = 3_000


@pytest.fixture(scope="session")
def installation() -> Installation:
    return install()


@contextmanager
def our_broker(store: Path) -> Iterator[ServerProcess]:
    with ServerProcess("broker", store, *OURS) as ours:
        yield ours


@contextmanager
def apaches_broker(installation: Installation, store: Path, scratch: Path) -> Iterator[tuple[Apache, str]]:
    apache.declare_topics(store, {TOPIC: QUEUES})
    with Apache(installation, store, scratch=scratch, sizes=SIZES, options=THEIRS) as theirs:
        (configuration,) = scratch.glob("apache-*/broker.properties")
        (port,) = re.findall(r"^listenPort=(\d+)$", configuration.read_text(encoding="utf-8"), re.MULTILINE)
        yield theirs, f"127.0.0.1:{port}"


def set_timers(address: str, ledger: Ledger, name: str) -> int:
    """Sends messages that are due at all times; when the broker may end."""
    end_ms = wall_ms() + END_AFTER_MS
    with Client(address) as client:
        for delay_ms in (*SOON_MS, *LATER_MS):
            ledger.send(client, f"{name}-{delay_ms}", delay_ms)
    return end_ms


def wait_until(time_ms: int) -> None:
    time.sleep(max(0, time_ms - wall_ms()) / 1_000)


@pytest.mark.parametrize("ending", ["stopped", "killed"])
def test_we_deliver_what_waits_in_apaches_store(ending: str, installation: Installation, tmp_path: Path) -> None:
    store, ledger = tmp_path / "store", Ledger()
    with apaches_broker(installation, store, tmp_path) as (theirs, address):
        wait_until(set_timers(address, ledger, "apache"))
        theirs.kill() if ending == "killed" else theirs.stop()
    with our_broker(store) as ours:
        wait_until(ledger.last_due_ms() + GRACE_MS)
        assert ours.stop() == 0
    assert ledger.check(delivered(store)) == 0


@pytest.mark.parametrize("ending", ["stopped", "killed"])
def test_apache_delivers_what_waits_in_our_store(ending: str, installation: Installation, tmp_path: Path) -> None:
    store, ledger = tmp_path / "store", Ledger()
    with our_broker(store) as ours:
        wait_until(set_timers(ours.broker, ledger, "ours"))
        if ending == "killed":
            ours.process.kill()
            ours.process.wait()
        else:
            assert ours.stop() == 0
    with apaches_broker(installation, store, tmp_path) as (theirs, _):
        wait_until(ledger.last_due_ms() + GRACE_MS)
        theirs.stop()
    assert ledger.check(delivered(store)) == 0


def test_timers_go_from_us_to_apache_and_back(installation: Installation, tmp_path: Path) -> None:
    store, ledger = tmp_path / "store", Ledger()
    with our_broker(store) as ours:
        wait_until(set_timers(ours.broker, ledger, "ours"))
        assert ours.stop() == 0
    with apaches_broker(installation, store, tmp_path) as (theirs, address):
        wait_until(set_timers(address, ledger, "apache"))
        theirs.stop()
    with our_broker(store) as ours:
        set_timers(ours.broker, ledger, "ours-again")
        wait_until(ledger.last_due_ms() + GRACE_MS)
        assert ours.stop() == 0
    assert ledger.check(delivered(store)) == 0
