"""How many messages and bytes came and went lately, by RocketMQ's names: in the last minute, hour and day.

The fast lane counts totals; here they are noted now and then, and what lies between two notes is what there was. A note
is one for everything, so that a message costs nothing.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

SAMPLE_MS: Final = 10_000
"""Between two calls of `sample`. RocketMQ's are as far apart."""

TOPIC_PUT_NUMS: Final = "TOPIC_PUT_NUMS"
TOPIC_PUT_SIZE: Final = "TOPIC_PUT_SIZE"
GROUP_GET_NUMS: Final = "GROUP_GET_NUMS"
GROUP_GET_SIZE: Final = "GROUP_GET_SIZE"
BROKER_PUT_NUMS: Final = "BROKER_PUT_NUMS"
BROKER_GET_NUMS: Final = "BROKER_GET_NUMS"

Item: TypeAlias = tuple[str, str]
"""A name of RocketMQ's and a key: a topic, a `topic@group`, or the cluster."""


class Counted(Protocol):
    """Messages and bytes: `escrowmq._core.Traffic`, or a test's own."""

    @property
    def messages(self) -> int:
        """How many messages."""

    @property
    def size_bytes(self) -> int:
        """How large they are together."""


class TrafficSource(Protocol):
    """Who counts: `escrowmq._core.BrokerServer`, or a test's own."""

    def traffic_in(self) -> Mapping[str, Counted]:
        """What came in for each topic since the start."""

    def traffic_out(self) -> Mapping[tuple[str, str], Counted]:
        """What went out since the start, by topic and group."""


class Amount(Struct, frozen=True):
    """How much there was in a time, and how much of it each second."""

    total: int
    per_s: float


NOTHING: Final = Amount(0, 0.0)


class Amounts(Struct, frozen=True):
    """How much there was lately."""

    minute: Amount
    hour: Amount
    day: Amount


class _Window:
    """The last notes of a kind: as many as lie in its time, and the one before them."""

    def __init__(self, *, interval_ms: int, count: int) -> None:
        self._interval_ms = interval_ms
        self._notes: deque[tuple[int, Mapping[Item, int]]] = deque(maxlen=count + 1)

    def note(self, totals: Mapping[Item, int], *, now_ms: int) -> None:
        """Keeps totals, if it is time to."""
        if not self._notes or now_ms - self._notes[-1][0] >= self._interval_ms:
            self._notes.append((now_ms, totals))

    def has(self, item: Item) -> bool:
        """Whether there was any of it when the last note was made."""
        return item in self._notes[-1][1]

    def amount(self, item: Item) -> Amount:
        """What lies between the first note and the last."""
        if len(self._notes) < 2:  # noqa: PLR2004 - between two notes
            return NOTHING
        (first_ms, first), (last_ms, last) = self._notes[0], self._notes[-1]
        total = last.get(item, 0) - first.get(item, 0)
        # A topic that was deleted and made again counts from 0 once more.
        total = total if total >= 0 else last.get(item, 0)
        return Amount(total, total * 1_000 / (last_ms - first_ms))


class TrafficStatistics:
    """Notes of all totals. `sample` is to be called every ten seconds."""

    def __init__(self, source: TrafficSource, *, cluster: str, now_ms: Callable[[], int]) -> None:
        self._source = source
        self._cluster = cluster
        self._now_ms = now_ms
        self._minute = _Window(interval_ms=SAMPLE_MS, count=6)
        self._hour = _Window(interval_ms=10 * 60_000, count=6)
        self._day = _Window(interval_ms=60 * 60_000, count=24)
        self.sample()

    def sample(self) -> None:
        """Notes how far the totals are."""
        totals, now_ms = self._totals(), self._now_ms()
        for window in (self._minute, self._hour, self._day):
            window.note(totals, now_ms=now_ms)

    def find(self, name: str, key: str) -> Amounts | None:
        """How much there was of something lately; None where there never was any."""
        item = (name, key)
        # What is noted is looked at first: an operator asks for topic after topic.
        if not self._minute.has(item) and item not in self._totals():
            return None
        return Amounts(self._minute.amount(item), self._hour.amount(item), self._day.amount(item))

    def put_per_s(self, topic: str) -> float:
        """Messages that came in for a topic each second of the last minute."""
        return self._minute.amount((TOPIC_PUT_NUMS, topic)).per_s

    def got_per_s(self, group: str, topic: str) -> float:
        """Messages of a topic that went out to a group each second of the last minute."""
        return self._minute.amount((GROUP_GET_NUMS, f"{topic}@{group}")).per_s

    def _totals(self) -> dict[Item, int]:
        """All totals of what there was at all."""
        totals: dict[Item, int] = {}
        put = got = 0
        for topic, counted in self._source.traffic_in().items():
            if counted.messages:
                totals[TOPIC_PUT_NUMS, topic] = counted.messages
                totals[TOPIC_PUT_SIZE, topic] = counted.size_bytes
                put += counted.messages
        for (topic, group), counted in self._source.traffic_out().items():
            totals[GROUP_GET_NUMS, f"{topic}@{group}"] = counted.messages
            totals[GROUP_GET_SIZE, f"{topic}@{group}"] = counted.size_bytes
            got += counted.messages
        if put:
            totals[BROKER_PUT_NUMS, self._cluster] = put
        if got:
            totals[BROKER_GET_NUMS, self._cluster] = got
        return totals
