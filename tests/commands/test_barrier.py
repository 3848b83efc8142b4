"""`escrowmq barrier`: makes, proves and sweeps."""

from pathlib import Path

import sqlalchemy
from sqlalchemy.orm import Session
from tests.commands.terminal import Terminal, call

from escrowmq.sql import Escrow
from escrowmq.testing import LocalBroker


def test_a_barrier_is_made_proved_and_swept(terminal: Terminal, broker: LocalBroker, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/orders.db"
    refused = call("barrier", "verify", url, "--group=shop")
    assert refused.exit_code == 1
    assert "escrowmq barrier init" in refused.output
    for _ in range(2):
        assert "stands" in call("barrier", "init", url).output
    assert "rolled back is rolled back" in call("barrier", "verify", url, "--group=shop").output
    engine = sqlalchemy.create_engine(url)
    with Escrow(broker.name_server, group="shop", databases=engine) as escrow, Session(engine) as session:
        escrow.send(session, "orders", "1")
        session.commit()
    engine.dispose()
    assert terminal.text("barrier", "sweep", url, "--group=shop") == "0 rows are gone\n"
    assert terminal.json("barrier", "sweep", url, "--group=shop", "--keep-hours=1")["rows"] == 0


def test_a_database_that_no_barrier_can_stand_in_is_refused_by_name() -> None:
    refused = call("barrier", "init", "sqlite://")
    assert refused.exit_code == 1
    assert "memory" in refused.output
