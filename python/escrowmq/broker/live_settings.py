"""Settings that someone mirrors, and who has to be told when an operator has changed them."""

from typing import Protocol

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


class LiveSettings:
    """Passes changes on. What is not in its table is looked up by whoever needs it."""

    def __init__(
        self,
        settings: Settings,
        *,
        server: Guarded,
        topics: Topics,
        groups: SubscriptionGroups,
        clients: ClientRegistry,
        registration: Registration,
        save_offsets: Task,
    ) -> None:
        self._settings = settings
        self._server = server
        self._topics = topics
        self._groups = groups
        self._clients = clients
        self._registration = registration
        self._save_offsets = save_offsets
        self._passers = {
            "brokerPermission": self._pass_permission,
            "autoCreateTopicEnable": self._pass_creation,
            "autoCreateSubscriptionGroup": self._pass_creation,
            "channelExpiredTimeout": self._pass_times,
            "flushConsumerOffsetInterval": self._pass_times,
        }

    def publish(self) -> None:
        """Tells of what has changed since it was called last."""
        changed = self._settings.take_changed()
        for key in sorted(changed & self._passers.keys()):
            self._passers[key]()

    def _pass_permission(self) -> None:
        permission = self._settings.broker.permission
        self._server.set_broker_permission(permission)
        self._registration.permission = permission
        self._topics.touch()
        self._registration.tell_all()

    def _pass_creation(self) -> None:
        self._topics.has_auto_create = self._settings.broker.creates_topics
        self._groups.has_auto_create = self._settings.broker.creates_groups

    def _pass_times(self) -> None:
        self._clients.expiry_ms = self._settings.broker.client_timeout_ms
        self._save_offsets.interval_ms = self._settings.broker.offsets_interval_ms
