"""Attributes of topics: how a request changes them, and which there are.

A request writes changes as `+message.type=FIFO,-reserve.time`: a plus sets, a minus removes.
"""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

MESSAGE_TYPES: Final = frozenset({"UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION"})


class Attribute(Struct, frozen=True):
    """What an attribute may be set to, and whether it may be set again."""

    is_changeable: bool
    accepts: Callable[[str], bool]


# Compat: reserve.time is known to RocketMQ and refused by it where the store is not a tiered one; ours never is.
ATTRIBUTES: Final[Mapping[str, Attribute]] = {
    "queue.type": Attribute(is_changeable=False, accepts=lambda value: value == "SimpleCQ"),
    "cleanup.policy": Attribute(is_changeable=False, accepts=lambda value: value == "DELETE"),
    "message.type": Attribute(is_changeable=True, accepts=lambda value: value in MESSAGE_TYPES),
}


class BadAttribute(ValueError):
    """A change of attributes that can't be made."""


def parse_changes(text: str) -> dict[str, str]:
    """The changes of a request, by name with its sign.

    Raises:
        BadAttribute: They are not written as changes are.
    """
    changes: dict[str, str] = {}
    for change in filter(None, text.split(",")):
        key, is_setting, value = change.partition("=")
        if not key.startswith("+" if is_setting else "-"):
            raise BadAttribute(f"{'add/alter' if is_setting else 'delete'} attribute format is wrong: {key}")
        if key in changes:
            raise BadAttribute(f"key duplication: {key}")
        changes[key] = value
    return changes


def alter(current: Mapping[str, str], changes: Mapping[str, str], *, is_new: bool) -> dict[str, str]:
    """The attributes after the changes.

    Raises:
        BadAttribute: An attribute is unknown, may not be changed, or not to that value.
    """
    altered = dict(current)
    seen: set[str] = set()
    for key, value in changes.items():
        sign, name = key[:1], key[1:]
        if not name or "+" in name or "-" in name:
            raise BadAttribute("kv string format wrong.")
        if name in seen:
            raise BadAttribute(f"alter duplication key. key: {name}")
        seen.add(name)
        if sign == "+":
            _check_setting(name, value, is_new=is_new)
            altered[name] = value
        elif is_new:
            raise BadAttribute(f"only add attribute is supported while creating topic. key: {name}")
        elif name not in current:
            raise BadAttribute(f"attempt to delete a nonexistent key: {name}")
        else:
            _known(name, is_new=False)
            del altered[name]
    return altered


def _check_setting(name: str, value: str, *, is_new: bool) -> None:
    if not _known(name, is_new=is_new).accepts(value):
        raise BadAttribute(f"value is not in set or not supported: {name}={value}")


def _known(name: str, *, is_new: bool) -> Attribute:
    attribute = ATTRIBUTES.get(name)
    if attribute is None:
        raise BadAttribute(f"unsupported key: {name}")
    if not is_new and not attribute.is_changeable:
        raise BadAttribute(f"attempt to update an unchangeable attribute. key: {name}")
    return attribute
