"""Values that operators keep at the name server, by namespace and key. What was acknowledged survives a restart.

The file is RocketMQ's `kvConfig.json`: {"configTable":{namespace:{key:value}}}.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from msgspec import Struct, field

from escrowmq.errors import BadBody, ConfigError
from escrowmq.protocol import fastjson

ORDER_TOPICS: Final = "ORDER_TOPIC_CONFIG"
"""The namespace of topics whose order spans brokers: topic to `broker:queues;broker:queues`."""


class KeptBytes(Protocol):
    """Where the table is kept."""

    def read(self) -> bytes | None:
        """What is kept; None at first."""

    def write(self, content: bytes) -> None:
        """Keeps something else, durably."""


class _KvFile(Struct, frozen=True):
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict, name="configTable")


class KvConfig:
    """The table, kept after every change. If keeping fails, nothing has changed."""

    def __init__(self, kept: KeptBytes, *, size_max_bytes: int = 16 * 1024 * 1024) -> None:
        self._kept = kept
        self._size_max_bytes = size_max_bytes
        self._namespaces = _load(kept)

    def get(self, namespace: str, key: str) -> str | None:
        """One value."""
        return self._namespaces.get(namespace, {}).get(key)

    def namespace(self, namespace: str) -> Mapping[str, str] | None:
        """All values of a namespace; None if there was never one."""
        return self._namespaces.get(namespace)

    def put(self, namespace: str, key: str, value: str) -> None:
        """Sets a value."""
        self._replace(namespace, {**self._namespaces.get(namespace, {}), key: value})

    def delete(self, namespace: str, key: str) -> None:
        """Removes a value; nothing happens if there is none."""
        values = self._namespaces.get(namespace, {})
        if key in values:
            self._replace(namespace, {name: value for name, value in values.items() if name != key})

    def _replace(self, namespace: str, values: dict[str, str]) -> None:
        changed = {**self._namespaces, namespace: values}
        content = fastjson.encode_strict(_KvFile(changed))
        if len(content) > self._size_max_bytes:
            raise ConfigError(f"the kept values take at most {self._size_max_bytes} bytes", key=namespace)
        self._kept.write(content)
        self._namespaces = changed


def _load(kept: KeptBytes) -> dict[str, dict[str, str]]:
    content = kept.read()
    if content is None:
        return {}
    try:
        return fastjson.decode(content, _KvFile).namespaces
    except BadBody as error:
        raise ConfigError(f"the kept key-value configuration can't be read: {error}", key="kvConfig") from error
