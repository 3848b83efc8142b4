"""The id of a stored message, which says where it is: its broker's address and port, and its log offset, in hex."""

from typing import Final

_LENGTHS: Final = (32, 56)
"""Of an id with an address of version 4, and of version 6."""
_OFFSET_SIZE: Final = 8


def log_offset_of(message_id: str) -> int:
    """The log offset in the id of a stored message.

    Raises:
        ValueError: It is no such id.
    """
    if len(message_id) not in _LENGTHS:
        raise ValueError(f"{message_id!r} is no id of a stored message")
    return int.from_bytes(bytes.fromhex(message_id)[-_OFFSET_SIZE:], "big")
