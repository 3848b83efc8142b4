"""`escrowmq ledger`, on databases of its own."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session
from tests.commands.terminal import call
from tests.leash import die_with_parent

from escrowmq.sql.ledger_sent import SentLedger
from escrowmq.testing import LocalBroker

DEADLINE_S = 30


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    assert "are there" in call("ledger", "init", url).stdout
    return url


def test_status_shows_what_is_not_confirmed(url: str) -> None:
    engine = create_engine(url)
    with Session(engine) as session, session.begin():
        SentLedger(engine, "confirmed").record(session, "orders", b"1")
    engine.dispose()
    found = json.loads(call("ledger", "status", url, "--json").stdout)
    assert (found["unconfirmed"], found["confirmed"], found["sent_again"]) == (1, 0, 0)
    assert "unconfirmed" in call("ledger", "status", url).stdout
    group = json.loads(call("ledger", "status", url, "--group", "billing", "--json").stdout)
    assert (group["consumed"], group["last_check_ms"]) == (0, None)


def test_both_sides_as_processes_agree_in_the_end(url: str, broker: LocalBroker) -> None:
    broker.create_topic("confirmed")
    engine = create_engine(url)
    with Session(engine) as session, session.begin():
        message = SentLedger(engine, "confirmed").record(session, "orders", b"1")
        key = message.properties["ESCROWMQ_LEDGER_ID"]
        row = {"group": "billing", "key": key}
        session.execute(text("INSERT INTO escrowmq_consumed VALUES (:group, :key, 'confirmed', 0, 0)"), row)
    processes = [
        _run(url, broker, "--group=shop", "--confirm-topic=confirmed"),
        _run(url, broker, "--group=billing"),
    ]
    try:
        until_s = time.monotonic() + DEADLINE_S
        while SentLedger(engine, "confirmed").status().unconfirmed:
            assert time.monotonic() < until_s, "it is not confirmed"
            time.sleep(0.05)
    finally:
        engine.dispose()
        for process in processes:
            process.send_signal(signal.SIGINT)
        codes = [process.wait(DEADLINE_S) for process in processes]
    assert codes == [0, 0]


def test_a_url_that_is_none_is_refused_in_a_sentence() -> None:
    done = call("ledger", "status", "nonsense")
    assert done.exit_code == 1
    assert "no database" in done.stderr


def _run(url: str, broker: LocalBroker, *options: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "escrowmq", "ledger", "run", url, f"--namesrv={broker.name_server}"]
    return subprocess.Popen(
        [*command, "--interval=0.1", *options], stdout=subprocess.DEVNULL, preexec_fn=die_with_parent
    )
