"""Versions of peers that change what they understand: ordinals of RocketMQ's version list."""

from typing import Final

RETRIES_IN_REQUEST: Final = 121
"""From 3.4.9 on, a consumer says itself how often its messages are tried again."""

STRICT_JSON_ROUTES: Final = 401
"""From 4.9.4 on, clients read routes in strict JSON."""

MAPPINGS_IN_COMPRESSED_BODY: Final = 413
"""From 5.0.0 on, a compressed registration ends with the mappings of static topics."""
