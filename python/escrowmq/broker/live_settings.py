"""Settings that someone mirrors, and who has to be told when an operator has changed them."""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from escrowmq.broker.client_registry import ClientRegistry
from escrowmq.broker.housekeeping import Task
from escrowmq.broker.registration import Registration
from escrowmq.broker.settings import Settings
from escrowmq.broker.subscriptions import SubscriptionGroups
from escrowmq.broker.topics import Topics


class Guarded(Protocol):
    """Who lets clients in: `escrowmq._core.BrokerServer`, or a test's own."""

    def set_broker_permission(self, permission: int) -> None:
        """Changes what the broker allows."""


class Cleaned(Protocol):
    """What expires: `escrowmq._core.Store`, or a test's own."""

    def set_retention(self, *, age_ms: int, hour: int, disk_clean_ratio: float) -> None:
        """Changes when old log files go."""


class LiveSettings:
    """Passes changes on. What is not in its table is looked up by whoever needs it."""

    def __init__(
        self,
        settings: Settings,
        *,
        server: Guarded,
        store: Cleaned,
        topics: Topics,
        groups: SubscriptionGroups,
        clients: ClientRegistry,
        registration: Registration,
        save_offsets: Task,
    ) -> None:
        self._settings = settings
        self._server = server
        self._store = store
        self._topics = topics
        self._groups = groups
        self._clients = clients
        self._registration = registration
        self._save_offsets = save_offsets

    def publish(self) -> None:
        """Tells of what has changed since it was called last."""
        changed = self._settings.take_changed()
        for key in sorted(changed & _PASSERS.keys()):
            _PASSERS[key](self)

    def pass_permission(self) -> None:
        """What clients may do, for the server and for name servers."""
        permission = self._settings.broker.permission
        self._server.set_broker_permission(permission)
        self._registration.permission = permission
        self._topics.touch()
        self._registration.tell_all()

    def pass_creation(self) -> None:
        """Whether topics and groups are made on use."""
        self._topics.has_auto_create = self._settings.broker.creates_topics
        self._groups.has_auto_create = self._settings.broker.creates_groups

    def pass_times(self) -> None:
        """How long clients may be silent, and how often offsets are saved."""
        self._clients.expiry_ms = self._settings.broker.client_timeout_ms
        self._save_offsets.interval_ms = self._settings.broker.offsets_interval_ms

    def pass_retention(self) -> None:
        """When old log files go."""
        store = self._settings.store
        self._store.set_retention(
            age_ms=store.retention_age_ms, hour=store.retention_hour, disk_clean_ratio=store.disk_clean_ratio
        )


_PASSERS: Final[Mapping[str, Callable[[LiveSettings], None]]] = {
    "brokerPermission": LiveSettings.pass_permission,
    "autoCreateTopicEnable": LiveSettings.pass_creation,
    "autoCreateSubscriptionGroup": LiveSettings.pass_creation,
    "channelExpiredTimeout": LiveSettings.pass_times,
    "flushConsumerOffsetInterval": LiveSettings.pass_times,
    "deleteWhen": LiveSettings.pass_retention,
    "diskMaxUsedSpaceRatio": LiveSettings.pass_retention,
}
