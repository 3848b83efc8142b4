"""The subscription groups of this broker: subscriptionGroup.json in RocketMQ's format.

As with topics, a change is on disk before it is in the table.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from escrowmq.broker.data_version import next_version
from escrowmq.broker.ports import TextFile
from escrowmq.model import names
from escrowmq.model.data_version import DataVersion
from escrowmq.model.subscription import SubscriptionGroup

GROUPS_MAX: Final = 100_000
"""Beyond this many, groups are made by operators only: a client must not fill memory and disk by inventing names."""


class GroupsFile(Struct, frozen=True):
    """What subscriptionGroup.json holds."""

    data_version: DataVersion = field(default_factory=DataVersion, name="dataVersion")
    # Bits by group and topic that forbid things; kept as they are, for a broker that reads them.
    forbidden: dict[str, dict[str, int]] = field(default_factory=dict, name="forbiddenTable")
    groups: dict[str, SubscriptionGroup] = field(default_factory=dict, name="subscriptionGroupTable")


class SubscriptionGroups:
    """All groups by name. While `has_auto_create` says so, a group is made when somebody reads as it."""

    def __init__(self, file: TextFile, *, now_ms: Callable[[], int], has_auto_create: bool = True) -> None:
        self._file = file
        self._now_ms = now_ms
        self.has_auto_create = has_auto_create
        text = file.load()
        loaded = msgspec.json.decode(text, type=GroupsFile) if text is not None else GroupsFile()
        system = {name: SubscriptionGroup(name=name) for name in names.SYSTEM_GROUPS}
        self._groups = system | loaded.groups
        self._forbidden = loaded.forbidden
        self._version = loaded.data_version if text is not None else DataVersion(timestamp_ms=now_ms())

    @property
    def table(self) -> Mapping[str, SubscriptionGroup]:
        """All groups."""
        return self._groups

    @property
    def data_version(self) -> DataVersion:
        """The version of the table."""
        return self._version

    @property
    def forbidden(self) -> Mapping[str, Mapping[str, int]]:
        """Bits by group and topic that forbid things."""
        return self._forbidden

    def find(self, name: str) -> SubscriptionGroup | None:
        """The group of a name."""
        return self._groups.get(name)

    def find_or_create(self, name: str) -> SubscriptionGroup | None:
        """The group of a name, made if it is not there; None if it may not be made or no group may be called so."""
        self.create([name])
        return self._groups.get(name)

    def create(self, wanted: Iterable[str]) -> None:
        """Makes the groups that are not there and may be made; the file is written once for all of them."""
        if not self.has_auto_create:
            return
        missing = dict.fromkeys(name for name in wanted if name not in self._groups and not names.refuse_group(name))
        made = {name: SubscriptionGroup(name=name) for name in islice(missing, max(0, GROUPS_MAX - len(self._groups)))}
        if made:
            self._replace({**self._groups, **made})

    def update(self, groups: Iterable[SubscriptionGroup]) -> None:
        """Makes or alters groups. RocketMQ knows no attributes of groups, so those there are stay."""
        updated = {}
        for group in groups:
            current = self._groups.get(group.name)
            updated[group.name] = replace(group, attributes={} if current is None else current.attributes)
        self._replace({**self._groups, **updated})

    def delete(self, name: str) -> bool:
        """Deletes a group; False if there is none."""
        if name not in self._groups:
            return False
        forbidden = {other: bits for other, bits in self._forbidden.items() if other != name}
        self._replace({other: group for other, group in self._groups.items() if other != name}, forbidden)
        return True

    def _replace(
        self, groups: dict[str, SubscriptionGroup], forbidden: dict[str, dict[str, int]] | None = None
    ) -> None:
        version = next_version(self._version, now_ms=self._now_ms())
        forbidden = self._forbidden if forbidden is None else forbidden
        self._file.save(msgspec.json.encode(GroupsFile(version, forbidden, groups)).decode())
        self._forbidden = forbidden
        self._groups = groups
        self._version = version
