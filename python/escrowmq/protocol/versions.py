"""Versions of peers: ordinals of RocketMQ's list, where from 4.0.0 on every version has a snapshot before it."""

from typing import Final

RETRIES_IN_REQUEST: Final = 121
"""From 3.4.9 on, a consumer says itself how often its messages are tried again."""

STRICT_JSON_ROUTES: Final = 401
"""From 4.9.4 on, clients read routes in strict JSON."""

MAPPINGS_IN_COMPRESSED_BODY: Final = 413
"""From 5.0.0 on, a compressed registration ends with the mappings of static topics."""

LATEST: Final = 513
"""5.5.0, which our servers say they are."""

_FIRST_REGULAR: Final = 212
_FIRST_UNKNOWN: Final = 812
_PER_MAJOR, _PER_MINOR, _PER_PATCH = 200, 20, 2


def version_name(ordinal: int) -> str:
    """The name of a version as RocketMQ's metrics show it: `v5_5_0`. Before 4.0.0 the list has no rule: `v3`."""
    if ordinal < _FIRST_REGULAR:
        return "v3"
    if ordinal >= _FIRST_UNKNOWN:
        return "higher_version"
    major, rest = divmod(ordinal - _FIRST_REGULAR, _PER_MAJOR)
    minor, rest = divmod(rest, _PER_MINOR)
    patch, is_release = divmod(rest, _PER_PATCH)
    return f"v{4 + major}_{minor}_{patch}" + ("" if is_release else "_snapshot")
