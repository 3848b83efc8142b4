"""Settings of the broker and its store as frozen values, and RocketMQ's names for them. `config` reads them."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, field

from escrowmq.server_config import Bytes, Count, LimitsConfig, Milliseconds, PagesPort, Port, Ratio

DELAY_LEVELS: Final = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
DELAY_LEVELS_PATTERN: Final = "^[0-9]{1,9}[smhd]( [0-9]{1,9}[smhd])*$"


class FastLaneConfig(LimitsConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How sends and pulls are answered: arguments of `escrowmq.BrokerServer.start`, by the same names."""

    asks_for_traces: bool = True
    has_long_polling: bool = True
    short_polling_ms: Milliseconds = 1_000
    parked_pulls_max: Count = 100_000
    pull_count_max: Count = 32
    pull_size_max_bytes: Bytes = 262_144
    hot_window_bytes: Bytes = 33_554_432
    has_property_filters: bool = True
    flush_timeout_ms: Milliseconds = 5_000


class TimersConfig(FastLaneConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How messages wait for a time of their own."""

    has_timers: bool = True
    timer_precision_ms: Literal[100, 200, 500, 1000] = 1_000
    timer_delay_max_s: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 259_200
    timer_roll_window_slots: Annotated[int, Meta(ge=2, le=604_740)] = 172_800
    timer_slot_messages_max: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 2**31 - 1
    timer_log_file_size_bytes: Annotated[int, Meta(ge=4_096, le=2**30)] = 104_857_600
    takes_recalls: bool = False


class TransactionsConfig(TimersConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How transactions wait for their decisions."""

    takes_transactions: bool = True
    transaction_flush: Literal["store", "sync"] = "store"
    transaction_timeout_ms: Milliseconds = 6_000
    transaction_check_interval_ms: Milliseconds = 30_000
    transaction_checks_max: Count = 15
    transaction_history_ms: Milliseconds = 3_600_000
    transaction_history_max: Count = 1_000_000


class BrokerConfig(TransactionsConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `[broker]`."""

    name: str = "broker-a"
    cluster: str = "DefaultCluster"
    id: Annotated[int, Meta(ge=0)] = 0
    host: str = "127.0.0.1"
    port: Port = 10_911
    advertise: str = ""
    name_servers: list[str] = field(default_factory=list)
    data: str = ""
    region: str = "DefaultRegion"
    permission: Annotated[int, Meta(ge=0, le=7)] = 6
    creates_topics: bool = True
    default_topic_queues: Count = 8
    creates_groups: bool = True
    register_interval_ms: Milliseconds = 30_000
    name_server_wait_ms: Milliseconds = 1_000
    offsets_interval_ms: Milliseconds = 5_000
    client_timeout_ms: Milliseconds = 120_000
    queue_lease_ms: Milliseconds = 60_000
    delay_levels: Annotated[str, Meta(pattern=DELAY_LEVELS_PATTERN)] = DELAY_LEVELS
    delay_offsets_interval_ms: Milliseconds = 1_000
    resets_offsets: bool = True
    metrics_host: str = "127.0.0.1"
    metrics_port: PagesPort = -1


class StoreConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `[store]`: the options of `escrowmq.Store.open`."""

    flush: Literal["sync", "async"] = "sync"
    segment_size_bytes: Bytes = 1_073_741_824
    queue_file_entries: Count = 300_000
    index_slots: Count = 5_000_000
    index_entries: Count = 20_000_000
    checkpoint_interval_ms: Milliseconds = 1_000
    body_size_max_bytes: Bytes = 4_194_304
    record_crc: bool = False
    retention_age_ms: Milliseconds = 259_200_000
    retention_hour: Annotated[int, Meta(ge=0, le=23)] = 4
    disk_clean_ratio: Ratio = 0.75
    disk_force_ratio: Ratio = 0.85
    disk_refuse_ratio: Ratio = 0.9
    reader_grace_ms: Annotated[int, Meta(ge=0)] = 120_000


def _plain(value: object) -> str:
    if isinstance(value, list):
        return ";".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


class ApacheKey(Struct, frozen=True):
    """What one of RocketMQ's keys sets: a table, a setting, how its text becomes a value, and how a value is shown."""

    table: Literal["broker", "store"]
    setting: str
    convert: Callable[[str], Any]
    show: Callable[[Any], str] = _plain


def _is_true(text: str) -> bool:
    return text.lower() == "true"


def _is_not_true(text: str) -> bool:
    return not _is_true(text)


def _opposite(value: bool) -> str:  # noqa: FBT001 - what is shown is a value
    return _plain(not value)


def _flush(text: str) -> str:
    return {"SYNC_FLUSH": "sync", "ASYNC_FLUSH": "async"}[text]


def _flush_name(value: str) -> str:
    return {"sync": "SYNC_FLUSH", "async": "ASYNC_FLUSH"}[value]


def _name_servers(text: str) -> list[str]:
    return [address.strip() for address in text.split(";") if address.strip()]


def _queue_file_entries(text: str) -> int:
    return int(text) // 20


def _queue_file_size(entries: int) -> str:
    return str(entries * 20)


def _hours_to_ms(text: str) -> int:
    return int(text) * 3_600_000


def _hours(value_ms: int) -> str:
    return str(value_ms // 3_600_000)


def _percent(text: str) -> float:
    return int(text) / 100


def _in_percent(ratio: float) -> str:
    return str(round(ratio * 100))


APACHE_KEYS: Final[Mapping[str, ApacheKey]] = {
    "brokerName": ApacheKey("broker", "name", str),
    "brokerClusterName": ApacheKey("broker", "cluster", str),
    "brokerId": ApacheKey("broker", "id", int),
    "bindAddress": ApacheKey("broker", "host", str),
    "listenPort": ApacheKey("broker", "port", int),
    "brokerIP1": ApacheKey("broker", "advertise", str),
    "namesrvAddr": ApacheKey("broker", "name_servers", _name_servers),
    "storePathRootDir": ApacheKey("broker", "data", str),
    "regionId": ApacheKey("broker", "region", str),
    "brokerPermission": ApacheKey("broker", "permission", int),
    "autoCreateTopicEnable": ApacheKey("broker", "creates_topics", _is_true),
    "defaultTopicQueueNums": ApacheKey("broker", "default_topic_queues", int),
    "autoCreateSubscriptionGroup": ApacheKey("broker", "creates_groups", _is_true),
    "registerNameServerPeriod": ApacheKey("broker", "register_interval_ms", int),
    "flushConsumerOffsetInterval": ApacheKey("broker", "offsets_interval_ms", int),
    "channelExpiredTimeout": ApacheKey("broker", "client_timeout_ms", int),
    "messageDelayLevel": ApacheKey("broker", "delay_levels", str),
    "flushDelayOffsetInterval": ApacheKey("broker", "delay_offsets_interval_ms", int),
    "timerWheelEnable": ApacheKey("broker", "has_timers", _is_true),
    "timerPrecisionMs": ApacheKey("broker", "timer_precision_ms", int),
    "timerMaxDelaySec": ApacheKey("broker", "timer_delay_max_s", int),
    "timerRollWindowSlot": ApacheKey("broker", "timer_roll_window_slots", int),
    "timerCongestNumEachSlot": ApacheKey("broker", "timer_slot_messages_max", int),
    "mappedFileSizeTimerLog": ApacheKey("broker", "timer_log_file_size_bytes", int),
    "recallMessageEnable": ApacheKey("broker", "takes_recalls", _is_true),
    "rejectTransactionMessage": ApacheKey("broker", "takes_transactions", _is_not_true, _opposite),
    "transactionTimeOut": ApacheKey("broker", "transaction_timeout_ms", int),
    "transactionCheckInterval": ApacheKey("broker", "transaction_check_interval_ms", int),
    "transactionCheckMax": ApacheKey("broker", "transaction_checks_max", int),
    "useServerSideResetOffset": ApacheKey("broker", "resets_offsets", _is_true),
    "metricsPromExporterHost": ApacheKey("broker", "metrics_host", str),
    "metricsPromExporterPort": ApacheKey("broker", "metrics_port", int),
    "traceOn": ApacheKey("broker", "asks_for_traces", _is_true),
    "longPollingEnable": ApacheKey("broker", "has_long_polling", _is_true),
    "shortPollingTimeMills": ApacheKey("broker", "short_polling_ms", int),
    "maxTransferCountOnMessageInMemory": ApacheKey("broker", "pull_count_max", int),
    "maxTransferBytesOnMessageInMemory": ApacheKey("broker", "pull_size_max_bytes", int),
    "enablePropertyFilter": ApacheKey("broker", "has_property_filters", _is_true),
    "syncFlushTimeout": ApacheKey("broker", "flush_timeout_ms", int),
    "serverChannelMaxIdleTimeSeconds": ApacheKey("broker", "connection_idle_s", int),
    "flushDiskType": ApacheKey("store", "flush", _flush, _flush_name),
    "mappedFileSizeCommitLog": ApacheKey("store", "segment_size_bytes", int),
    "mappedFileSizeConsumeQueue": ApacheKey("store", "queue_file_entries", _queue_file_entries, _queue_file_size),
    "maxHashSlotNum": ApacheKey("store", "index_slots", int),
    "maxIndexNum": ApacheKey("store", "index_entries", int),
    "maxMessageSize": ApacheKey("store", "body_size_max_bytes", int),
    "enabledAppendPropCRC": ApacheKey("store", "record_crc", _is_true),
    "fileReservedTime": ApacheKey("store", "retention_age_ms", _hours_to_ms, _hours),
    "deleteWhen": ApacheKey("store", "retention_hour", int, "{:02}".format),
    "diskMaxUsedSpaceRatio": ApacheKey("store", "disk_clean_ratio", _percent, _in_percent),
}
"""RocketMQ's keys of broker.conf that mean something here."""

TRANSACTION_KEYS_UNUSED: Final = frozenset(
    {
        "enableTransactionMetrics",
        "endTransactionPoolQueueCapacity",
        "endTransactionThreadPoolNums",
        "transactionMetricFlushInterval",
        "transactionOpBatchInterval",
        "transactionOpMsgMaxSize",
        "waitTimeMillsInTransactionQueue",
    }
)
"""RocketMQ's keys of transactions that size or time what we do not have: decisions do not wait to be written."""
