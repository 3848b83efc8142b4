"""Operations: what a client does, written once and without waiting.

An operation is a generator. It yields steps, each something that takes time, and is sent what came of it; what went
wrong is thrown into it. Drivers carry steps out: one blocks, one awaits, one calls back. `yield from` composes them.
"""

from collections.abc import Callable, Generator
from typing import Generic, Protocol, TypeAlias, TypeVar

from escrowmq.client.engine import Engine

T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)

Settle: TypeAlias = Callable[[object, Exception | None], None]
"""Told once, by any thread, what a step came to: a value, or why there is none."""

Cancel: TypeAlias = Callable[[], object]
"""Nobody waits any more; what is settled later is dropped."""


class Step(Protocol):
    """Something that takes time."""

    def begin(self, engine: Engine, settle: Settle) -> Cancel:
        """Begins it. May settle before it returns."""


Operation: TypeAlias = Generator[Step, object, T]
"""What a client does, step by step, and what comes of it."""


class Outcome(Generic[R_co]):
    """What came of an operation: a value or an error."""

    __slots__ = ("_error", "_value")

    def __init__(self, value: R_co | None = None, error: Exception | None = None) -> None:
        self._value = value
        self._error = error

    @property
    def error(self) -> Exception | None:
        """Why there is no value."""
        return self._error

    def get(self) -> R_co:
        """The value; an error is raised."""
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # None only where that is the operation's value
