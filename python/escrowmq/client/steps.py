"""The steps that operations are made of."""

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import TypeVar, cast

from msgspec import Struct

from escrowmq._core import OutgoingRequest, Response
from escrowmq.client import drivers
from escrowmq.client.asking import Asking
from escrowmq.client.engine import Engine
from escrowmq.client.operation import Cancel, Operation, Outcome, Settle

T = TypeVar("T")


class Pausing(Struct, frozen=True):
    """A while in which nothing is done."""

    delay_s: float

    def begin(self, engine: Engine, settle: Settle) -> Cancel:
        """Sets a timer."""
        return engine.deadlines.later(self.delay_s, lambda: settle(None, None), dropped=partial(settle, None))


class Offloading(Struct, frozen=True):
    """A function that may block, on a worker; what it returns, or raises."""

    function: Callable[[], object]

    def begin(self, engine: Engine, settle: Settle) -> Cancel:
        """Hands it to the workers."""

        def run() -> None:
            try:
                value = self.function()
            except Exception as error:  # noqa: BLE001 - it is raised where the operation waits
                settle(None, error)
            else:
                settle(value, None)

        engine.workers.submit(run, dropped=partial(settle, None))
        return _nothing


class Together(Struct, frozen=True):
    """Many operations at a time; what came of each, when all are done."""

    operations: Sequence[Operation[object]]

    def begin(self, engine: Engine, settle: Settle) -> Cancel:
        """Begins all of them. The dispatch thread tells what came, so that nobody else counts."""
        outcomes: dict[int, Outcome[object]] = {}

        def done(place: int, outcome: Outcome[object]) -> None:
            outcomes[place] = outcome
            if len(outcomes) == len(self.operations):
                settle([outcomes[each] for each in range(len(outcomes))], None)

        for place, operation in enumerate(self.operations):
            drivers.begin(engine, operation, partial(done, place))
        return _nothing


def together(operations: Sequence[Operation[T]]) -> Operation[list[Outcome[T]]]:
    """Carries many operations out at a time; what came of each, in their order."""
    if not operations:
        return []
    return cast("list[Outcome[T]]", (yield Together(cast("Sequence[Operation[object]]", operations))))


def ask(address: str, request: OutgoingRequest, timeout_s: float) -> Operation[Response]:
    """Asks a numeric address."""
    return cast("Response", (yield Asking(address, request, timeout_s)))


def pause(delay_s: float) -> Generator[Pausing, object, None]:
    """Does nothing for a while."""
    yield Pausing(delay_s)


def offload(function: Callable[[], T]) -> Operation[T]:
    """Runs a function that may block."""
    return cast("T", (yield Offloading(function)))


def _nothing() -> None:
    """A function that runs can't be stopped; nobody takes what it returns."""
