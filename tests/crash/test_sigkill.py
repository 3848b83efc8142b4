"""Nothing acknowledged is lost when the process is killed, round after round on the same folder.

A child writes and acknowledges outside of itself; after some acknowledgements it gets SIGKILL, wherever it is then. The
folder is copied as the kill left it, the copy is opened and compared, and the next child goes on with the original, so
that each child recovers from the kill of the one before.
"""

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.crash.writer import message
from tests.opening import every_record, open_small

ROUNDS = 8
ACKNOWLEDGEMENTS_MAX = 40


def run_and_kill(folder: Path, first: int, flush: str, lines_before_the_kill: int) -> int:
    """Runs the writer and kills it after some lines. Returns how many messages are acknowledged."""
    command = [sys.executable, "-m", "tests.crash.writer", str(folder), str(first), flush]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(lines_before_the_kill)]
        writer.kill()
        # What is still in the pipe counts too, but for a line that the kill cut short.
        lines += [line for line in writer.stdout if line.endswith("\n")]
    assert writer.returncode == -9, f"the writer ended by itself: {lines[-1:]}"
    numbers = [int(line) for line in lines if line.strip().isdigit()]
    return max(numbers, default=first)


def survivors(folder: Path) -> int:
    """Checks that the store holds messages 0 to n - 1, each once and unchanged, and returns n."""
    with open_small(folder) as store:
        records = every_record(store)
        for number, record in enumerate(records):
            sent = message(number)
            assert (record.topic, record.queue_id, bytes(record.body)) == (sent.topic, sent.queue_id, sent.body)
            assert record.properties == sent.properties
        for queue in store.queues():
            offsets = [record.queue_offset for record in store.iterate(queue.topic, queue.queue_id)]
            assert offsets == list(range(queue.min_offset, queue.max_offset))
        for number in random.Random(len(records)).sample(range(len(records)), k=min(20, len(records))):
            (found,) = store.find_by_key(message(number).topic, f"key-{number}")
            assert found.log_offset == records[number].log_offset
    return len(records)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("flush", ["sync", "async"])
@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_acknowledged_survives_every_kill(folder: Path, tmp_path: Path, flush: str, seed: int) -> None:
    chance = random.Random(seed)
    count = 0
    for number in range(ROUNDS):
        # One line is `opening`, the second `open`: a kill after either falls into the start or the recovery.
        lines = chance.choice([1, 2, chance.randrange(3, ACKNOWLEDGEMENTS_MAX)])
        acknowledged = run_and_kill(folder, count, flush, lines)
        if not folder.exists():
            continue
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(folder, copy)
        found = survivors(copy)
        assert found >= acknowledged, f"seed {seed}, round {number}: {acknowledged - found} messages are lost"
        # Recovery is idempotent: a second opening finds the same.
        assert survivors(copy) == found
        shutil.rmtree(copy)
        count = found
    assert count > 0
