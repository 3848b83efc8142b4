"""Maps whose keys are objects, which Java's fastjson writes and reads and no other JSON has.

{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"orders"}:5}}
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from escrowmq.errors import BadBody
from escrowmq.protocol import fastjson

SIZE_MAX_BYTES: Final = 256 * 1024
"""Largest text with such keys that is read: a thousand queues and more."""

# A string is taken whole, so that what stands in it is never mistaken for a brace.
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.?)*+(?:"|\Z)|[{}\[\],]|[^"{}\[\],]++', re.DOTALL)
_CLOSING: Final = {b"{": b"}", b"[": b"]"}


def encode_map(pairs: Iterable[tuple[object, object]]) -> bytes:
    """A map as fastjson writes it."""
    return b"{%s}" % b",".join(fastjson.encode_strict(key) + b":" + fastjson.encode(value) for key, value in pairs)


def with_text_keys(data: bytes | memoryview, *, size_max_bytes: int = SIZE_MAX_BYTES) -> bytes:
    """The same text with each key that is an object turned into a string of its JSON, for any parser to read.

    Raises:
        BadBody: The text is too long, or its braces do not match.
    """
    if len(data) > size_max_bytes:
        raise BadBody(f"the body has {len(data)} bytes, and {size_max_bytes} are read at most")
    written: list[bytes] = []
    opened: list[bytes] = []
    # Where the key begins that is being read, and how deep it lies.
    key_start, key_depth = -1, -1
    is_key_next = False
    for match in _TOKEN.finditer(bytes(data)):
        token = match[0]
        if token.isspace():
            continue
        if token == b"{" and is_key_next:
            # A key within a key would have its quotes escaped again at every level, and grow without bound.
            if key_start >= 0:
                raise BadBody("the body has a key in a key")
            key_start, key_depth = len(written), len(opened)
        written.append(token)
        if token in _CLOSING:
            opened.append(token)
        elif opened and token == _CLOSING[opened[-1]]:
            opened.pop()
            if len(opened) == key_depth:
                written[key_start:] = [msgspec.json.encode(b"".join(written[key_start:]).decode(errors="replace"))]
                key_start, key_depth = -1, -1
        elif token in (b"}", b"]"):
            raise BadBody("the body has a brace that was not opened")
        is_key_next = token in (b"{", b",") and opened[-1:] == [b"{"]
    if opened:
        raise BadBody("the body has a brace that is not closed")
    return b"".join(written)
