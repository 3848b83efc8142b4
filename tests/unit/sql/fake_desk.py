"""A desk without a broker: what was prepared and settled, and whether that succeeds."""

from collections.abc import Callable, Sequence

from escrowmq import Message
from escrowmq.errors import NotReachable
from escrowmq.sql.ports import Held
from escrowmq.sql.values import Verdict


class PrepareFailedHere(NotReachable):
    """A prepare that failed, as the client's: with those that got through."""

    prepared: Sequence[Message]


class FakeDesk:
    """Keeps the books that a test looks into."""

    def __init__(self) -> None:
        self.prepared: list[Message] = []
        self.settled: list[tuple[str, Verdict]] = []
        self.failures = 0
        self.fails_after = 0
        self.is_reachable = True
        self.at_prepare: Callable[[], object] = lambda: None

    def prepare(self, messages: Sequence[Message]) -> Held:
        self.at_prepare()
        is_failing = self.failures > 0
        got_through = list(messages)[: self.fails_after] if is_failing else list(messages)
        self.prepared += got_through
        if is_failing:
            self.failures -= 1
            raise PrepareFailedHere("the broker is gone", address="127.0.0.1:1", prepared=got_through)
        return got_through

    def settle(self, held: Held, verdict: Verdict) -> bool:
        if self.is_reachable:
            self.settled += [(bytes(message.body).decode(), verdict) for message in held]
        return self.is_reachable
