"""Values to the strings of `ext_fields`: what `decode_header` reads."""

import msgspec
from msgspec import Struct


def encode_header(header: Struct) -> dict[str, str]:
    """The fields of a request as they travel. What is None or an empty text is left out: it means the same."""
    fields = msgspec.to_builtins(header)
    return {name: _text(value) for name, value in fields.items() if value not in (None, "")}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
