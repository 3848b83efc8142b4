"""Parts of a broker that follow from its settings alone. `app` puts them together."""

from collections.abc import Callable

from escrowmq import _core
from escrowmq.broker import addresses
from escrowmq.broker.registration import Identity
from escrowmq.broker.stamp import Stamp
from escrowmq.broker.topics import TopicRules
from escrowmq.broker_config import BrokerConfig, FastLaneConfig, StoreConfig
from escrowmq.server_config import LimitsConfig, own_settings


def start_server(store: _core.Store, place: addresses.Place, config: BrokerConfig) -> _core.BrokerServer:
    """The server with its fast lane, listening."""
    return _core.BrokerServer.start(
        store,
        place.listen,
        broker_name=config.name,
        cluster_name=config.cluster,
        region_id=config.region,
        broker_address=place.host,
        broker_permission=config.permission,
        **own_settings(config, FastLaneConfig),
        limits=_core.Limits(**own_settings(config, LimitsConfig)),
    )


def start_timers(store: _core.Store, config: BrokerConfig, store_config: StoreConfig) -> _core.Timers | None:
    """What delivers timer messages, unless it is switched off.

    They are stored anew before they can expire, be log files as short-lived as they like.
    """
    if not config.has_timers:
        return None
    expiry_slots = store_config.retention_age_ms // 2 // config.timer_precision_ms
    return _core.Timers.start(
        store,
        precision_ms=config.timer_precision_ms,
        roll_window_slots=max(2, min(config.timer_roll_window_slots, expiry_slots)),
        log_file_size_bytes=config.timer_log_file_size_bytes,
    )


def transaction_flush(
    store: _core.Store, config: BrokerConfig, store_config: StoreConfig
) -> Callable[[], object] | None:
    """What brings transactions to disk before they are answered; None where the store does so, or nobody wants it."""
    return store.flush if config.transaction_flush == "sync" and store_config.flush == "async" else None


def identity(config: BrokerConfig, place: addresses.Place) -> Identity:
    """How name servers know it."""
    return Identity(
        name=config.name,
        cluster=config.cluster,
        broker_id=config.id,
        address=place.advertised,
        ha_address=place.ha,
    )


def stamp(config: BrokerConfig, place: addresses.Place, clock: _core.Clock) -> Stamp:
    """What it writes on messages."""
    return Stamp(
        region=config.region,
        cluster=config.cluster,
        asks_for_traces=config.asks_for_traces,
        store_host=place.advertised,
        wall_ms=clock.wall_ms,
    )


def topic_rules(config: BrokerConfig) -> TopicRules:
    """Which topics it has by itself."""
    return TopicRules(
        broker_name=config.name,
        cluster=config.cluster,
        has_auto_create=config.creates_topics,
        default_queues=config.default_topic_queues,
    )
