"""Bodies about groups: of the requests that make or alter them, and the answers that show them."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct, field

from escrowmq.errors import BadBody
from escrowmq.model.data_version import DataVersion
from escrowmq.model.subscription import SubscriptionGroup
from escrowmq.protocol import fastjson
from escrowmq.protocol.bodies.heartbeat import without_nulls

Body = TypeVar("Body", bound=Struct)


class GroupList(Struct, frozen=True):
    """Groups to make or alter."""

    groups: list[SubscriptionGroup] = field(name="groupConfigList")


class GroupTable(Struct, frozen=True):
    """All groups of a broker."""

    groups: dict[str, SubscriptionGroup] = field(name="subscriptionGroupTable")


def decode_group(body: bytes | memoryview) -> SubscriptionGroup:
    """Reads the group of UPDATE_AND_CREATE_SUBSCRIPTIONGROUP.

    Raises:
        BadBody: It is none.
    """
    return _decode(body, SubscriptionGroup)


def decode_group_list(body: bytes | memoryview) -> list[SubscriptionGroup]:
    """Reads the groups of UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST.

    Raises:
        BadBody: It is none.
    """
    return _decode(body, GroupList).groups


def encode_group_table(
    groups: Mapping[str, SubscriptionGroup], forbidden: Mapping[str, Mapping[str, int]], version: DataVersion
) -> bytes:
    """The answer to GET_ALL_SUBSCRIPTIONGROUP_CONFIG."""
    return fastjson.encode_strict(
        {"dataVersion": version, "forbiddenTable": forbidden, "subscriptionGroupTable": groups}
    )


def decode_group_table(body: bytes | memoryview) -> dict[str, SubscriptionGroup]:
    """Reads the groups of an answer to GET_ALL_SUBSCRIPTIONGROUP_CONFIG.

    Raises:
        BadBody: It is none.
    """
    return _decode(body, GroupTable).groups


def encode_group(group: SubscriptionGroup) -> bytes:
    """The answer to GET_SUBSCRIPTIONGROUP_CONFIG, and the body of UPDATE_AND_CREATE_SUBSCRIPTIONGROUP."""
    return fastjson.encode_strict(group)


def _decode(body: bytes | memoryview, kind: type[Body]) -> Body:
    try:
        return msgspec.convert(without_nulls(fastjson.decode(body, dict)), kind)
    except msgspec.ValidationError as error:
        raise BadBody(f"the body is no {kind.__name__}: {error}") from error
