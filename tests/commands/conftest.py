"""What the tests of commands share: a broker of their own, and a terminal that asks its name server."""

from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs
from tests.commands.terminal import Terminal

from escrowmq.testing import LocalBroker


@pytest.fixture
def broker() -> Iterator[LocalBroker]:
    """A name server and a broker, on free ports. What they log is kept from the terminal, whose process is theirs."""
    with capture_logs(), LocalBroker() as started:
        yield started


@pytest.fixture
def terminal(broker: LocalBroker) -> Terminal:
    """A terminal for that broker."""
    return Terminal(broker.name_server)
