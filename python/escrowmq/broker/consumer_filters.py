"""What consumer groups want by properties: compiled when a heartbeat brings it, kept in RocketMQ's consumerFilter.json.

Of a group's members the newest expression holds. A filter whose consumers are gone is dead, and kept for a day, in case
they come back.
"""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec
import structlog
from msgspec import Struct, field
from msgspec.structs import replace

from escrowmq import _core
from escrowmq.broker.bloom_positions import BIT_COUNT, bloom_positions
from escrowmq.broker.ports import TextFile
from escrowmq.errors import BadFilter
from escrowmq.model.subscription import SQL92, TAG, Subscription

DEAD_MAX_MS: Final = 86_400_000
"""How long a dead filter is kept."""

# Whoever left a filter behind is taken to have been gone for so long when the broker starts.
GONE_BEFORE_START_MS: Final = 30_000

FILTERS_MAX: Final = 10_000
"""Beyond this many none is taken: a client must not fill memory and disk by inventing topics."""

_log = structlog.get_logger()


class WrongExpression(Exception):
    """An expression that is none, or of a type that nobody knows; it says where and why."""


class BloomData(Struct, frozen=True):
    """Where Apache marks what the filter wants."""

    bit_count: int = field(default=BIT_COUNT, name="bitNum")
    positions: list[int] = field(default_factory=list, name="bitPos")


class ConsumerFilter(Struct, frozen=True, kw_only=True):
    """The filter of a group for a topic."""

    bloom: BloomData | None = field(default=None, name="bloomFilterData")
    born_ms: int = field(name="bornTime")
    version: int = field(name="clientVersion")
    group: str = field(name="consumerGroup")
    is_dead: bool = field(default=False, name="dead")
    dead_ms: int = field(default=0, name="deadTime")
    expression: str
    expression_type: str = field(default=SQL92, name="expressionType")
    topic: str


class TopicFilters(Struct, frozen=True):
    """The filters of a topic by group."""

    groups: dict[str, ConsumerFilter] = field(default_factory=dict, name="groupFilterData")
    topic: str = ""


class FiltersFile(Struct, frozen=True):
    """What consumerFilter.json holds."""

    topics: dict[str, TopicFilters] = field(default_factory=dict, name="filterDataByTopic")


class Known(Struct, frozen=True):
    """A filter as it is kept, and ready to be asked."""

    kept: ConsumerFilter
    filter: _core.PropertyFilter

    @property
    def version(self) -> int:
        """The version of the subscription that brought it."""
        return self.kept.version


def compiled(expression_type: str, expression: str) -> _core.PropertyFilter:
    """The filter of an expression.

    Raises:
        WrongExpression: It is none.
    """
    if expression_type != SQL92:
        raise WrongExpression(f"filter expressions of type {expression_type!r} are unknown, expected {TAG} or {SQL92}")
    try:
        return _core.PropertyFilter(expression)
    except BadFilter as error:
        raise WrongExpression(f"the filter expression is wrong at {error}") from error


class ConsumerFilters:
    """The filters by group and topic.

    `version` counts changes, so that whoever mirrors them knows when to look again.
    """

    def __init__(self, file: TextFile, *, now_ms: Callable[[], int]) -> None:
        self._file = file
        self._now_ms = now_ms
        self._groups: dict[str, dict[str, Known]] = {}
        self._saved_version = self.version = 0
        text = file.load()
        if text is not None:
            self._take_over(msgspec.json.decode(text, type=FiltersFile))

    def find(self, group: str, topic: str) -> Known | None:
        """The filter of a group for a topic, dead or alive."""
        return self._groups.get(group, {}).get(topic)

    def register(self, group: str, subscriptions: Iterable[Subscription]) -> None:
        """Notes what a heartbeat says that a group wants; what it leaves out is dead."""
        wanted = {subscription.topic: subscription for subscription in subscriptions}
        for subscription in wanted.values():
            if not subscription.is_by_tag and subscription.expression:
                self._subscribe(group, subscription)
        for topic, known in self._groups.get(group, {}).items():
            if topic not in wanted:
                self._bury(known)

    def unregister(self, group: str) -> None:
        """Notes that a group has no members any more."""
        for known in self._groups.get(group, {}).values():
            self._bury(known)

    def save(self) -> bool:
        """Forgets what is long dead, and writes the filters if they have changed since; whether they had."""
        self._forget_long_dead()
        if self.version == self._saved_version:
            return False
        topics: dict[str, TopicFilters] = {}
        for group, filters in self._groups.items():
            for topic, known in filters.items():
                topics.setdefault(topic, TopicFilters(topic=topic)).groups[group] = known.kept
        self._file.save(msgspec.json.encode(FiltersFile(topics)).decode())
        self._saved_version = self.version
        return True

    def _subscribe(self, group: str, subscription: Subscription) -> None:
        current = self.find(group, subscription.topic)
        if current is None:
            self._make(group, subscription)
        elif subscription.version == current.version:
            self._revive(current, subscription.version)
        elif subscription.version > current.version:
            said = (subscription.expression, subscription.expression_type)
            if said == (current.kept.expression, current.kept.expression_type):
                self._revive(current, subscription.version)
            else:
                # The old one first: where the new one is none, the group has none.
                self._drop(current)
                self._make(group, subscription)

    def _make(self, group: str, subscription: Subscription) -> None:
        topic = subscription.topic
        try:
            made = compiled(subscription.expression_type, subscription.expression)
        except WrongExpression as error:
            _log.warning("filter refused", group=group, topic=topic, reason=str(error))
            return
        if sum(map(len, self._groups.values())) >= FILTERS_MAX:
            _log.warning("filter refused", group=group, topic=topic, reason=f"there are {FILTERS_MAX} already")
            return
        if made.ignored_from is not None:
            line, column = made.ignored_from
            _log.warning("the end of a filter means nothing", group=group, topic=topic, line=line, column=column)
        kept = ConsumerFilter(
            bloom=BloomData(positions=bloom_positions(f"{group}#{topic}")),
            born_ms=self._now_ms(),
            version=subscription.version,
            group=group,
            expression=subscription.expression,
            expression_type=subscription.expression_type,
            topic=topic,
        )
        self._put(Known(kept, made))

    def _revive(self, known: Known, version: int) -> None:
        if known.kept.is_dead or known.version != version:
            self._put(Known(replace(known.kept, version=version, is_dead=False, dead_ms=0), known.filter))

    def _bury(self, known: Known) -> None:
        if not known.kept.is_dead:
            self._put(Known(_dead(known.kept, self._now_ms()), known.filter))

    def _put(self, known: Known) -> None:
        self._groups.setdefault(known.kept.group, {})[known.kept.topic] = known
        self.version += 1

    def _drop(self, known: Known) -> None:
        filters = self._groups[known.kept.group]
        del filters[known.kept.topic]
        if not filters:
            del self._groups[known.kept.group]
        self.version += 1

    def _forget_long_dead(self) -> None:
        latest_ms = self._now_ms() - DEAD_MAX_MS
        all_known = [known for filters in self._groups.values() for known in filters.values()]
        for known in all_known:
            if known.kept.is_dead and known.kept.dead_ms <= latest_ms:
                self._drop(known)

    def _take_over(self, file: FiltersFile) -> None:
        """Goes on with what a broker left. Its consumers are gone; an expression that is none here is left out."""
        gone_ms = self._now_ms() - GONE_BEFORE_START_MS
        for topic in file.topics.values():
            for kept in topic.groups.values():
                try:
                    made = compiled(kept.expression_type, kept.expression)
                except WrongExpression as error:
                    _log.warning("filter ignored", group=kept.group, topic=kept.topic, reason=str(error))
                    continue
                known = Known(_dead(kept, kept.dead_ms or gone_ms), made)
                self._groups.setdefault(kept.group, {})[kept.topic] = known


def _dead(kept: ConsumerFilter, dead_ms: int) -> ConsumerFilter:
    return replace(kept, is_dead=True, dead_ms=max(dead_ms, kept.born_ms))
