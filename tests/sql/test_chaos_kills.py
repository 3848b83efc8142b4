"""The service killed at every line of its transaction in turn: row and message agree, and nobody wrote a checker.

SQLite is complete in every run. On servers each run takes every `STRIDE`th line; `ESCROWMQ_CHAOS=all`, as `make chaos`
says, takes all of them.
"""

import os
from typing import Final

import pytest
from sqlalchemy import Engine
from tests.sql import chaos
from tests.sql.service import serve_one

from escrowmq.testing.plugin import BrokerFactory

STRIDE: Final = 16
LINES_MIN: Final = 150
LINES_MAX: Final = 2_000


@pytest.mark.timeout(280)
def test_row_and_message_agree_wherever_the_service_is_killed(
    engine: Engine, url: str, escrowmq_broker_factory: BrokerFactory
) -> None:
    engine.dispose()
    is_complete = url.startswith("sqlite") or os.environ.get("ESCROWMQ_CHAOS") == "all"
    broker = escrowmq_broker_factory(settings=chaos.SHORT_CHECKS)
    numbers = range(1, LINES_MAX, 1 if is_complete else STRIDE)
    killed = 0
    for line in numbers:
        if not chaos.killed_at(broker.name_server, url, line, line):
            break
        killed += 1
    assert killed * numbers.step >= LINES_MIN
    # The one that was not killed has placed its order, and so does the next: nothing that was left is in its way.
    serve_one(broker.name_server, url, LINES_MAX, None)
    chaos.settle(broker, url)
    chaos.agree(broker, url, [*numbers, LINES_MAX])
    placed = len(chaos.orders(url))
    print(f"{url.partition(':')[0]}: killed at {killed} lines, {placed} orders and as many messages")
    # Some were killed before their commit, and some after it.
    assert 2 < placed < killed
