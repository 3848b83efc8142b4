"""The topics of this broker: topics.json in RocketMQ's format, and the rules by which topics come and go.

A change is on disk before it is in the table: what a client was told to exist exists after a restart.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from escrowmq.broker import topic_attributes
from escrowmq.broker.data_version import next_version
from escrowmq.broker.ports import TextFile
from escrowmq.model import names
from escrowmq.model.data_version import DataVersion
from escrowmq.model.topic import Permission, TopicConfig

READ_WRITE: Final = Permission.READ | Permission.WRITE
INHERITABLE: Final = Permission.READ | Permission.WRITE | Permission.INHERIT

BENCHMARK_QUEUES: Final = 1024
SCHEDULE_QUEUES: Final = 18
REVIVE_QUEUES: Final = 8

TOPICS_MAX: Final = 100_000
"""Beyond this many, topics are made by operators only: a client must not fill memory and disk by inventing names."""


class TopicRules(Struct, frozen=True, kw_only=True):
    """What decides which topics a broker has by itself."""

    broker_name: str
    cluster: str
    has_auto_create: bool = True
    default_queues: int = 8


class TopicsFile(Struct, frozen=True):
    """What topics.json holds."""

    data_version: DataVersion = field(default_factory=DataVersion, name="dataVersion")
    topics: dict[str, TopicConfig] = field(default_factory=dict, name="topicConfigTable")


class Topics:
    """All topics by name. While `has_auto_create` says so, a topic is made when somebody sends to it."""

    def __init__(self, rules: TopicRules, file: TextFile, *, now_ms: Callable[[], int]) -> None:
        self.has_auto_create = rules.has_auto_create
        self._file = file
        self._now_ms = now_ms
        own = system_topics(rules)
        self._system_names = names.SYSTEM_TOPICS | own.keys()
        text = file.load()
        loaded = msgspec.json.decode(text, type=TopicsFile) if text is not None else TopicsFile()
        # What the file says of a system topic beats what a broker would make of it: it may have been altered there.
        self._topics = own | loaded.topics
        self._version = loaded.data_version if text is not None else DataVersion(timestamp_ms=now_ms())
        self._changed: set[str] = set()

    @property
    def table(self) -> Mapping[str, TopicConfig]:
        """All topics."""
        return self._topics

    @property
    def data_version(self) -> DataVersion:
        """The version of the table."""
        return self._version

    def find(self, name: str) -> TopicConfig | None:
        """The topic of a name."""
        return self._topics.get(name)

    def is_system(self, name: str) -> bool:
        """Whether a topic is the broker's own, so that no client may alter or delete it."""
        return name in self._system_names or name.startswith(names.SYSTEM_PREFIX)

    def take_changed(self) -> list[TopicConfig]:
        """Topics that came or were altered since the last call; those deleted meanwhile are not among them."""
        changed = [self._topics[name] for name in sorted(self._changed) if name in self._topics]
        self._changed.clear()
        return changed

    def plan_for_send(self, name: str, *, default_topic: str, queues_max: int, system_flag: int) -> TopicConfig | None:
        """The topic that a producer sends to, made from one that may be inherited from; None if none may."""
        default = self._topics.get(default_topic)
        if default is None or not default.permissions & Permission.INHERIT:
            return None
        if default_topic == names.DEFAULT_TOPIC and not self.has_auto_create:
            return None
        queues = max(0, min(queues_max, default.write_queues))
        permissions = default.permissions & ~Permission.INHERIT
        return TopicConfig(name, queues, queues, permissions, default.filter_type, system_flag)

    def plan_retry(self, group: str, *, queues: int, is_ordered: bool, system_flag: int) -> TopicConfig:
        """The retry topic of a group as it is to be: its order flag is kept up to date."""
        name = names.retry_topic(group)
        topic = self._topics.get(name)
        if topic is None:
            return TopicConfig(name, queues, queues, READ_WRITE, system_flag=system_flag, is_ordered=is_ordered)
        return replace(topic, is_ordered=is_ordered)

    def create(self, planned: Iterable[TopicConfig]) -> None:
        """Makes or alters topics that were planned, while there is room; the file is written once for all of them.

        Of several plans for one topic the first holds.
        """
        altered: dict[str, TopicConfig] = {}
        room = TOPICS_MAX - len(self._topics)
        for topic in planned:
            current = self._topics.get(topic.name)
            if topic.name in altered or topic == current or (current is None and room <= 0):
                continue
            altered[topic.name] = topic
            room -= current is None
        self._put(list(altered.values()))

    def create_retry(self, group: str, *, queues: int, is_ordered: bool, system_flag: int) -> TopicConfig | None:
        """The retry topic of a group, made if it is not there; None where there is no room for it."""
        plan = self.plan_retry(group, queues=queues, is_ordered=is_ordered, system_flag=system_flag)
        self.create([plan])
        return self._topics.get(plan.name)

    def create_dead_letter(self, group: str, *, queues: int) -> TopicConfig:
        """The dead-letter topic of a group, which is made if it is not there."""
        name = names.dead_letter_topic(group)
        if name not in self._topics:
            self._put([TopicConfig(name, queues, queues, READ_WRITE)])
        return self._topics[name]

    def create_own(self, name: str) -> None:
        """A topic of the broker's own that it has from its first use on."""
        if name not in self._topics:
            self._put([TopicConfig(name, 1, 1, READ_WRITE)])

    def update(self, topics: Iterable[TopicConfig]) -> None:
        """Makes or alters topics: all or, if one is refused, none. Their attributes are changes, with signs.

        Raises:
            BadAttribute: A change of attributes that can't be made.
        """
        altered: dict[str, TopicConfig] = {}
        for topic in topics:
            current = altered.get(topic.name) or self._topics.get(topic.name)
            attributes = topic_attributes.alter(
                {} if current is None else current.attributes, topic.attributes, is_new=current is None
            )
            altered[topic.name] = replace(topic, attributes=attributes)
        self._put([topic for name, topic in altered.items() if topic != self._topics.get(name)])

    def mark_ordered(self, ordered: Iterable[str]) -> None:
        """Marks the topics that the name servers' order configuration lists."""
        topics = (self._topics.get(name) for name in ordered)
        self._put([replace(topic, is_ordered=True) for topic in topics if topic is not None and not topic.is_ordered])

    def delete(self, name: str) -> bool:
        """Deletes a topic; False if there is none."""
        if name not in self._topics:
            return False
        self._replace({other: topic for other, topic in self._topics.items() if other != name})
        self._changed.discard(name)
        return True

    def touch(self) -> None:
        """Counts the version up, so that name servers take all topics over again."""
        self._replace(self._topics)

    def _put(self, topics: list[TopicConfig]) -> None:
        if topics:
            self._replace({**self._topics, **{topic.name: topic for topic in topics}})
            self._changed.update(topic.name for topic in topics)

    def _replace(self, topics: dict[str, TopicConfig]) -> None:
        version = next_version(self._version, now_ms=self._now_ms())
        self._file.save(msgspec.json.encode(TopicsFile(version, topics)).decode())
        self._topics = topics
        self._version = version


def system_topics(rules: TopicRules) -> dict[str, TopicConfig]:
    """The topics that a broker has from the start."""

    def topic(name: str, queues: int = 1, permissions: int = READ_WRITE) -> TopicConfig:
        return TopicConfig(name, queues, queues, permissions)

    topics = [
        topic(names.SELF_TEST_TOPIC),
        topic(names.BENCHMARK_TOPIC, BENCHMARK_QUEUES),
        topic(rules.cluster, 16, INHERITABLE),
        topic(rules.broker_name, 1, INHERITABLE),
        topic(names.OFFSET_MOVED_TOPIC),
        topic(names.SCHEDULE_TOPIC, SCHEDULE_QUEUES),
        topic(names.TIMER_TOPIC),
        topic(f"{rules.cluster}_REPLY_TOPIC"),
        topic(f"{names.SYSTEM_PREFIX}REVIVE_LOG_{rules.cluster}", REVIVE_QUEUES),
        topic(f"{names.SYSTEM_PREFIX}SYNC_BROKER_MEMBER_{rules.broker_name}", 1, Permission.INHERIT),
        topic(names.HALF_TOPIC),
        topic(names.OP_TOPIC),
    ]
    if rules.has_auto_create:
        topics.append(topic(names.DEFAULT_TOPIC, rules.default_queues, INHERITABLE))
    return {topic.name: topic for topic in topics}
