"""What the broker runs with, and what of it an operator may change while it runs.

Changes are kept in RocketMQ's names and outlast a restart: a broker begins with its configuration, and above it what
was changed. Whoever mirrors a setting asks `take_changed`; the others look here when they need it.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import structlog
from msgspec import Struct, field

from escrowmq.broker.data_version import next_version
from escrowmq.broker.ports import TextFile
from escrowmq.broker_config import APACHE_KEYS, BrokerConfig, StoreConfig
from escrowmq.config import Config, with_setting
from escrowmq.errors import ConfigError
from escrowmq.model.data_version import DataVersion

# Whatever names a path, an address or a size on disk is left out. So is how long messages are kept: timers store theirs
# anew before they expire, and have begun with what was set.
CHANGEABLE: Final = frozenset(
    {
        "autoCreateSubscriptionGroup",
        "autoCreateTopicEnable",
        "brokerPermission",
        "channelExpiredTimeout",
        "deleteWhen",
        "diskMaxUsedSpaceRatio",
        "flushConsumerOffsetInterval",
        "useServerSideResetOffset",
    }
)
"""RocketMQ's names of the settings that may be changed."""

_log = structlog.get_logger()


class FixedSetting(Exception):
    """Settings that can't be changed while the broker runs; it says which."""


class SettingsFile(Struct, frozen=True):
    """What escrowmqSettings.json holds."""

    data_version: DataVersion = field(default_factory=DataVersion, name="dataVersion")
    changed: dict[str, str] = field(default_factory=dict)


class Settings:
    """The settings as they are now."""

    def __init__(self, broker: BrokerConfig, store: StoreConfig, file: TextFile, *, now_ms: Callable[[], int]) -> None:
        self._file = file
        self._now_ms = now_ms
        self._config = Config(broker=broker, store=store)
        text = file.load()
        kept = msgspec.json.decode(text, type=SettingsFile) if text is not None else SettingsFile()
        self._version = kept.data_version if text is not None else DataVersion(timestamp_ms=now_ms())
        self._kept: dict[str, str] = {}
        self._changed: set[str] = set()
        for key, value in kept.changed.items():
            if key in CHANGEABLE:
                self._take_over(key, value)

    @property
    def broker(self) -> BrokerConfig:
        """The broker's."""
        return self._config.broker

    @property
    def store(self) -> StoreConfig:
        """The store's."""
        return self._config.store

    @property
    def data_version(self) -> DataVersion:
        """Counts the changes."""
        return self._version

    def take_changed(self) -> frozenset[str]:
        """RocketMQ's names of what was changed since the last call."""
        changed = frozenset(self._changed)
        self._changed.clear()
        return changed

    def shown(self) -> dict[str, str]:
        """All settings that RocketMQ has a name for, as it writes them."""
        tables = {"broker": self.broker, "store": self.store}
        return {name: key.show(getattr(tables[key.table], key.setting)) for name, key in APACHE_KEYS.items()}

    def change(self, wanted: Mapping[str, str]) -> None:
        """Changes settings: all, or none. They are on disk before they count.

        Raises:
            FixedSetting: Some of them can't be changed.
            ConfigError: A text is no value of its setting.
        """
        fixed = sorted(wanted.keys() - CHANGEABLE)
        if fixed:
            raise FixedSetting(", ".join(fixed))
        config = self._config
        for key, text in wanted.items():
            config = with_setting(config, key, text)
        kept = {**self._kept, **wanted}
        version = next_version(self._version, now_ms=self._now_ms())
        self._file.save(msgspec.json.encode(SettingsFile(version, kept)).decode())
        self._config, self._kept, self._version = config, kept, version
        self._changed.update(wanted)

    def _take_over(self, key: str, text: str) -> None:
        """Goes on with what was changed before the start; what this version can't read is left as configured."""
        try:
            self._config = with_setting(self._config, key, text)
        except ConfigError as error:
            _log.warning("changed setting ignored", key=key, value=text, reason=str(error))
        else:
            self._kept[key] = text
            _log.info("setting was changed by an operator", key=key, value=text)
