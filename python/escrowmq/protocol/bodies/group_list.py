"""The body that answers QUERY_TOPIC_CONSUME_BY_WHO."""

from collections.abc import Sequence

from msgspec import Struct, field

from escrowmq.protocol import fastjson


class GroupNames(Struct, frozen=True):
    """Names of groups."""

    groups: list[str] = field(default_factory=list, name="groupList")


def encode_group_list(groups: Sequence[str]) -> bytes:
    """Names of groups."""
    return fastjson.encode_strict(GroupNames(list(groups)))


def decode_group_list(body: bytes | memoryview) -> list[str]:
    """Reads the names.

    Raises:
        BadBody: They are none.
    """
    return fastjson.decode(body, GroupNames).groups
