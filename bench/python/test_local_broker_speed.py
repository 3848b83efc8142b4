"""How long a test waits for a broker of its own."""

from pytest_benchmark.fixture import BenchmarkFixture

from escrowmq.testing import LocalBroker

START_MAX_S = 0.1
ROUNDS = 20


def test_a_broker_is_ready(benchmark: BenchmarkFixture) -> None:
    brokers: list[LocalBroker] = []

    def close_last() -> None:
        while brokers:
            brokers.pop().close()

    benchmark.pedantic(  # type: ignore[no-untyped-call]
        lambda: brokers.append(LocalBroker()), setup=close_last, rounds=ROUNDS, warmup_rounds=1
    )
    close_last()
    assert benchmark.stats is not None
    assert benchmark.stats.stats.median <= START_MAX_S
