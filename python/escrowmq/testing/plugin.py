"""The pytest plugin: a broker for a test that asks for one. Whatever it stands on is loaded by the first that does."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol, Unpack

import pytest

if TYPE_CHECKING:
    from escrowmq.testing.local_broker import LocalBroker, Options

MARKER = "escrowmq(flush='sync', settings={}): how the broker of `escrowmq_broker` is set up"


class BrokerFactory(Protocol):
    """Starts brokers, each with a name server of its own, that are gone after the test."""

    def __call__(self, **options: "Unpack[Options]") -> "LocalBroker":
        """Starts one; the options are those of `LocalBroker`."""


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def escrowmq_broker_factory() -> Iterator[BrokerFactory]:
    """Starts as many brokers as a test wants."""
    from escrowmq.testing.local_broker import LocalBroker  # noqa: PLC0415 - only where one is wanted

    with ExitStack() as brokers:

        def start(**options: "Unpack[Options]") -> "LocalBroker":
            return brokers.enter_context(LocalBroker(**options))

        yield start


@pytest.fixture
def escrowmq_broker(request: pytest.FixtureRequest, escrowmq_broker_factory: BrokerFactory) -> "LocalBroker":
    """A name server and a broker in this process, on free ports, for one test."""
    marker = request.node.get_closest_marker("escrowmq")
    return escrowmq_broker_factory(**(marker.kwargs if marker is not None else {}))
