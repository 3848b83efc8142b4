"""What a monitor reads of a broker: RocketMQ's metrics by the names that its own broker exports, and ours beside them.

`overview` reads the tables, on the broker's thread; `readings` does the rest on the thread of whoever asks, from the
store and the server, which any thread may look at. docs/metrics.md lists them all.
"""

import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from escrowmq import _core
from escrowmq.broker import native_metrics, queue_facts, transaction_metrics
from escrowmq.broker.context import Context
from escrowmq.model import names
from escrowmq.protocol.versions import version_name
from escrowmq.telemetry import server_metrics
from escrowmq.telemetry.metrics import Metric, Reading

_SYSTEM_GROUP_PREFIX: Final = "cid_rmq_sys_"
_CONSUME_MODES: Final = {"CONSUME_ACTIVELY": "pull", "CONSUME_PASSIVELY": "push", "CONSUME_POP": "pop"}
_TOPIC_LABELS: Final = ("topic", "is_system")
_GROUP_LABELS: Final = ("topic", "consumer_group", "is_retry", "is_system")
_STORAGE_LABELS: Final = ("storage_type", "storage_medium")
_STORAGE: Final = ("local", "disk")
_PROTOCOL: Final = "remoting"

MESSAGES_IN: Final = Metric("rocketmq_messages_in_total", "counter", _TOPIC_LABELS, "Messages that came in.")
MESSAGES_OUT: Final = Metric("rocketmq_messages_out_total", "counter", _GROUP_LABELS, "Messages that went out.")
THROUGHPUT_IN: Final = Metric("rocketmq_throughput_in_total", "counter", _TOPIC_LABELS, "Bytes that came in.")
THROUGHPUT_OUT: Final = Metric("rocketmq_throughput_out_total", "counter", _GROUP_LABELS, "Bytes that went out.")
LAG: Final = Metric(
    "rocketmq_consumer_lag_messages", "gauge", _GROUP_LABELS, "Messages of a topic that a group has not consumed."
)
LAG_LATENCY: Final = Metric(
    "rocketmq_consumer_lag_latency_milliseconds",
    "gauge",
    _GROUP_LABELS,
    "Time since the oldest of them was stored; 0 for none.",
)
PRODUCERS: Final = Metric(
    "rocketmq_producer_connections", "gauge", ("language", "version", "protocol_type"), "Producers that are connected."
)
CONSUMERS: Final = Metric(
    "rocketmq_consumer_connections",
    "gauge",
    ("consumer_group", "language", "version", "consume_mode", "protocol_type", "is_system"),
    "Consumers that are connected.",
)
WATERMARK: Final = Metric(
    "rocketmq_processor_watermark",
    "gauge",
    ("processor",),
    "Requests that wait: `send` for their flush, `admin` for Python, which answers all but sends, pulls and offsets.",
)
PERMISSION: Final = Metric("rocketmq_broker_permission", "gauge", (), "What clients may do: 4 read, 2 write, 6 both.")
TOPICS: Final = Metric("rocketmq_topic_number", "gauge", (), "Topics.")
GROUPS: Final = Metric("rocketmq_consumer_group_number", "gauge", (), "Subscription groups.")
STORAGE_SIZE: Final = Metric(
    "rocketmq_storage_size_bytes", "gauge", _STORAGE_LABELS, "Bytes in use on the disk that the store is on."
)
FLUSH_BEHIND: Final = Metric(
    "rocketmq_storage_flush_behind_bytes", "gauge", _STORAGE_LABELS, "Bytes of the log that are not on disk yet."
)
DISPATCH_BEHIND: Final = Metric(
    "rocketmq_storage_dispatch_behind_bytes", "gauge", _STORAGE_LABELS, "Bytes of the log that are in no queue yet."
)
RESERVE_TIME: Final = Metric(
    "rocketmq_storage_message_reserve_time_milliseconds",
    "gauge",
    _STORAGE_LABELS,
    "Time since the oldest message was stored; 0 for none.",
)
NAME_SERVERS: Final = Metric("escrowmq_name_servers_registered", "gauge", (), "Name servers that know the broker.")

METRICS: Final = (
    *(MESSAGES_IN, MESSAGES_OUT, THROUGHPUT_IN, THROUGHPUT_OUT, LAG, LAG_LATENCY, PRODUCERS, CONSUMERS, WATERMARK),
    *(PERMISSION, TOPICS, GROUPS, STORAGE_SIZE, FLUSH_BEHIND, DISPATCH_BEHIND, RESERVE_TIME, NAME_SERVERS),
    *transaction_metrics.METRICS,
    *native_metrics.METRICS,
    *server_metrics.METRICS,
)


class Overview(Struct, frozen=True, kw_only=True):
    """What the tables say."""

    permission: int
    topic_count: int
    group_count: int
    name_server_count: int
    is_system_topic: Callable[[str], bool]
    # By language and version; by group, language, version and mode.
    producers: dict[tuple[str, str], int]
    consumers: dict[tuple[str, str, str, str], int]
    # Topics and groups of consumers that are connected.
    subscribed: frozenset[tuple[str, str]]
    transactions: transaction_metrics.TransactionNumbers
    now_ms: int


def overview(context: Context, *, name_server_count: int) -> Overview:
    """Reads the tables."""
    clients, groups, now_ms = context.clients, context.clients.consumer_groups, context.wall_ms()
    return Overview(
        permission=context.settings.broker.permission,
        topic_count=len(context.topics.table),
        group_count=len(context.groups.table),
        name_server_count=name_server_count,
        is_system_topic=context.topics.is_system,
        producers=Counter(
            (client.language.lower(), version_name(client.version)) for client in clients.all_producers()
        ),
        consumers=Counter(
            (group.name, client.language.lower(), version_name(client.version), _consume_mode(group.consume_type))
            for group in groups.values()
            for client in group.members.values()
        ),
        subscribed=frozenset((topic, group.name) for group in groups.values() for topic in group.subscriptions),
        transactions=transaction_metrics.numbers(context.transactions, now_ms=now_ms),
        now_ms=now_ms,
    )


def readings(found: Overview, server: _core.BrokerServer, store: _core.Store) -> Iterator[Reading]:
    """Everything that is measured.

    Raises:
        StoreClosed, ServerClosed: The broker has stopped meanwhile.
    """
    yield from _traffic(found, server)
    yield from _lags(found, server, store)
    for (language, version), count in found.producers.items():
        yield Reading(PRODUCERS, count, (language, version, _PROTOCOL))
    for (group, language, version, mode), count in found.consumers.items():
        yield Reading(CONSUMERS, count, (group, language, version, mode, _PROTOCOL, _flag(_is_system_group(group))))
    fast_lane, lane, numbers = server.fast_lane_statistics(), server.statistics(), store.statistics()
    yield Reading(WATERMARK, fast_lane.sends_waiting, ("send",))
    yield Reading(WATERMARK, lane.requests_waiting, ("admin",))
    yield Reading(PERMISSION, found.permission)
    yield Reading(TOPICS, found.topic_count)
    yield Reading(GROUPS, found.group_count)
    disk = shutil.disk_usage(store.path)
    yield Reading(STORAGE_SIZE, disk.total - disk.free, _STORAGE)
    yield Reading(FLUSH_BEHIND, numbers.log_end - numbers.durable_end, _STORAGE)
    yield Reading(DISPATCH_BEHIND, numbers.log_end - numbers.visible_end, _STORAGE)
    yield Reading(RESERVE_TIME, _oldest_age_ms(found, store), _STORAGE)
    yield Reading(NAME_SERVERS, found.name_server_count)
    yield from transaction_metrics.readings(found.transactions)
    yield from native_metrics.readings(numbers, fast_lane)
    yield from server_metrics.readings(lane)


def _traffic(found: Overview, server: _core.BrokerServer) -> Iterator[Reading]:
    for topic, traffic in server.traffic_in().items():
        labels = (topic, _flag(found.is_system_topic(topic)))
        yield Reading(MESSAGES_IN, traffic.messages, labels)
        yield Reading(THROUGHPUT_IN, traffic.size_bytes, labels)
    for (topic, group), traffic in server.traffic_out().items():
        labels_out = _group_labels(found, topic, group)
        yield Reading(MESSAGES_OUT, traffic.messages, labels_out)
        yield Reading(THROUGHPUT_OUT, traffic.size_bytes, labels_out)


def _lags(found: Overview, server: _core.BrokerServer, store: _core.Store) -> Iterator[Reading]:
    """Of every group that has committed offsets of a topic, also where none of its consumers is there any more."""
    ends: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for queue in store.queues():
        ends[queue.topic][queue.queue_id] = queue.max_offset
    committed = {_topic_and_group(key): offsets for key, offsets in server.consumer_offsets().items()}
    for pair in sorted(committed.keys() | found.subscribed):
        topic, group = pair
        offsets = committed.get(pair, {})
        behind = {
            queue_id: offsets[queue_id]
            for queue_id, end in ends[topic].items()
            if queue_id in offsets and offsets[queue_id] < end
        }
        labels = _group_labels(found, topic, group)
        yield Reading(LAG, sum(ends[topic][queue_id] - offset for queue_id, offset in behind.items()), labels)
        times_ms = [queue_facts.stored_at_ms(store, topic, queue_id, offset) for queue_id, offset in behind.items()]
        oldest_ms = min((time_ms for time_ms in times_ms if time_ms > 0), default=found.now_ms)
        yield Reading(LAG_LATENCY, max(0, found.now_ms - oldest_ms), labels)


def _oldest_age_ms(found: Overview, store: _core.Store) -> int:
    oldest_ms = queue_facts.oldest_stored_at_ms(store)
    return 0 if oldest_ms == queue_facts.NO_TIME else max(0, found.now_ms - oldest_ms)


def _topic_and_group(key: str) -> tuple[str, str]:
    topic, _, group = key.partition("@")
    return topic, group


def _group_labels(found: Overview, topic: str, group: str) -> tuple[str, str, str, str]:
    is_retry = topic.startswith((names.RETRY_PREFIX, names.DEAD_LETTER_PREFIX))
    return topic, group, _flag(is_retry), _flag(found.is_system_topic(topic) or _is_system_group(group))


def _consume_mode(consume_type: str) -> str:
    """Clients may claim to consume in ways that nobody has heard of."""
    return _CONSUME_MODES.get(consume_type, "unknown")


def _is_system_group(group: str) -> bool:
    return group.lower().startswith(_SYSTEM_GROUP_PREFIX)


def _flag(is_so: bool) -> str:  # noqa: FBT001 - it is all there is to say
    return "true" if is_so else "false"
