"""Apache's TransactionProducer against our broker, and beside it a producer of ours that counts questions.

Apache's tells every ten seconds how many sends failed in nine of them, and how many questions came about transactions
that it had decided. Its counter of questions that came twice never counts, so ours does. ESCROWMQ_TRANSACTIONS_S=300
makes them run for five minutes with the broker's own settings; else they run for 25 s, the last questions some more,
and the broker asks more often than by default.
"""

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.compat.broker_process import ServerProcess
from tests.interop.installation import Installation
from tests.interop.java_process import JavaProcess, Row, log_tail, run_program

from escrowmq.admin import requests
from escrowmq.admin.client import Admin
from escrowmq.model.topic import TopicConfig

SECONDS = int(os.environ.get("ESCROWMQ_TRANSACTIONS_S", "25"))
LONG_S = 120
CHECK_INTERVAL_MS = 30_000 if SECONDS >= LONG_S else 5_000
# After its last answer the counting producer waits for questions that must not come.
WHILE_MS = CHECK_INTERVAL_MS + 2_000
SETTLE_S = 240

COUNTERS = re.compile(r"\| (Send TPS|Send Failed|Check|UnexpectedCheck): *(\d+)")
COUNTED = "counted"
COUNTING_THREADS = 4


@pytest.mark.timeout(SECONDS + SETTLE_S + 60)
@pytest.mark.parametrize(
    "options",
    [
        pytest.param("-w 32 -su 0.3 -sr 0.1 -cr 0.1 -cu 0.1", id="many", marks=pytest.mark.short),
        pytest.param("-w 1 -s 2028 -su 0.5", id="one"),
    ],
)
def test_no_send_fails_and_no_question_comes_twice_or_too_late(
    options: str, installation: Installation, tmp_path: Path
) -> None:
    server = ServerProcess(
        "up",
        tmp_path / "data",
        "--port=0",
        "--namesrv-port=0",
        "--set=store.segment_size_bytes=67108864",
        f"--set=broker.transaction_check_interval_ms={CHECK_INTERVAL_MS}",
    )
    with server as servers:
        with Admin([servers.name_server]) as admin:
            admin.ask(servers.broker, requests.create_topic(TopicConfig(COUNTED, 4, 4)))
        home = tmp_path / "benchmark"
        home.mkdir()
        benchmark = start_benchmark(installation, [*options.split(), "-n", servers.name_server], home)
        try:
            (counted,) = run_program(
                installation,
                "CountQuestions",
                [servers.name_server, COUNTED, str(COUNTING_THREADS), str(SECONDS), str(WHILE_MS)],
                home=tmp_path / "counting",
                deadline_s=SECONDS + SETTLE_S,
                heap="512m",
            )
            totals = totals_of(benchmark.output)
            print(f"{SECONDS} s of {options}: {dict(totals)}; counted: {counted}")
            assert_all_is_well(totals, counted)
        except Exception as error:
            error.add_note(log_tail(tmp_path))
            raise
        finally:
            benchmark.kill()
        assert servers.stop() == 0


def assert_all_is_well(totals: Counter[str], counted: Row) -> None:
    """None failed, and of questions there were some, but none that should not have been."""
    assert totals["Send TPS"] > 0
    assert totals["Check"] > 0
    assert (totals["Send Failed"], totals["UnexpectedCheck"]) == (0, 0)
    assert counted["decided"]
    assert counted["sent"] > 0
    assert counted["questions"] > 0
    assert (counted["failed"], counted["twice"], counted["unexpected"]) == (0, [], [])


def start_benchmark(installation: Installation, arguments: Sequence[str], home: Path) -> JavaProcess:
    """Apache's program, which never ends by itself."""
    command = installation.command(
        "org.apache.rocketmq.example.benchmark.TransactionProducer", arguments, heap="512m", home=home
    )
    return JavaProcess("benchmark", command, home=home)


def totals_of(output: str) -> Counter[str]:
    """What it has told, summed over the tens of seconds; a question that came too late has a line of its own, too."""
    totals: Counter[str] = Counter()
    for line in output.splitlines():
        if line.startswith("Current Time"):
            totals.update({name: int(value) for name, value in COUNTERS.findall(line)})
        elif "unexpected check" in line:
            totals["UnexpectedCheck"] += 1
    return totals
