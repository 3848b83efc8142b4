"""The JSON that Java's fastjson writes and reads: integer keys of maps stand without quotes.

    {"brokerAddrs":{0:"127.0.0.1:10911"}}

Strict JSON is a part of this dialect, so whoever reads it reads both.
"""

import re
from typing import Final, TypeVar

import msgspec

from escrowmq.errors import BadBody

T = TypeVar("T")

DIALECT_SIZE_MAX_BYTES: Final = 4 * 1024 * 1024
"""Largest text that is not strict JSON; strict JSON may be as large as a frame."""

_BARE_KEY: Final = re.compile(rb"[{,]\s*+-?\d++\s*+:")
# A string is taken whole, so that what stands in it is never mistaken for a key. One that does not end is taken to the
# end of the text: looked at once, however many quotes stand in it.
_STRING_OR_BARE_KEY: Final = re.compile(rb'"(?:[^"\\]|\\.?)*+(?:"|\Z)|([{,]\s*+)(-?\d++)(?=\s*+:)', re.DOTALL)


def encode(value: object) -> bytes:
    """Writes a value as fastjson does by default."""
    return _encode_builtin(msgspec.to_builtins(value, str_keys=False))


def encode_strict(value: object) -> bytes:
    """Writes a value as JSON that any parser reads."""
    return msgspec.json.encode(value)


def decode(data: bytes | memoryview, kind: type[T]) -> T:
    """Reads a value, written either way.

    Raises:
        BadBody: The bytes are no JSON, or not of that kind.
    """
    try:
        try:
            return msgspec.json.decode(data, type=kind)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            # Strict JSON is read in C, the rest is not: a large text of nonsense must not hold up who waits behind it.
            if len(data) > DIALECT_SIZE_MAX_BYTES:
                raise
            return msgspec.json.decode(_quote_keys(bytes(data)), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadBody(f"the body is no {kind.__name__}: {error}") from error


def _encode_builtin(value: object) -> bytes:
    if isinstance(value, dict):
        return b"{%s}" % b",".join(_encode_key(key) + b":" + _encode_builtin(item) for key, item in value.items())
    if isinstance(value, list):
        return b"[%s]" % b",".join(map(_encode_builtin, value))
    return msgspec.json.encode(value)


def _encode_key(key: object) -> bytes:
    return b"%d" % key if isinstance(key, int) else msgspec.json.encode(key)


def _quote_keys(data: bytes) -> bytes:
    if _BARE_KEY.search(data) is None:
        return data

    def quoted(match: re.Match[bytes]) -> bytes:
        return b'%s"%s"' % (match[1], match[2]) if match[2] else match[0]

    return _STRING_OR_BARE_KEY.sub(quoted, data)
