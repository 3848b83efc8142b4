"""The ids of messages: one says where a message is, the other which one it is."""

import ipaddress
import itertools
import struct
from datetime import UTC, datetime
from functools import cache
from typing import Final

MILLISECONDS_OF_DAY: Final = 86_400_000

_LENGTHS: Final = (32, 56)
"""Of an id with an address of version 4, and of version 6."""
_OFFSET_SIZE: Final = 8
_PORT_SIZE: Final = 4
_VERSION_6: Final = 6


def offset_message_id(store_host: str, log_offset: int) -> str:
    """The id that says where a message is: the broker, as `address:port`, and the log offset."""
    return f"{_place(store_host)}{log_offset:016X}"


@cache
def _place(store_host: str) -> str:
    """A broker as ids name it. Few brokers are asked for, and one of them for every message."""
    address, _, port = store_host.rpartition(":")
    packed = ipaddress.ip_address(address.strip("[]")).packed
    return (packed + struct.pack(">i", int(port))).hex().upper()


def log_offset_of(message_id: str) -> int:
    """The log offset in the id of a stored message.

    Raises:
        ValueError: It is no such id.
    """
    if len(message_id) not in _LENGTHS:
        raise ValueError(f"{message_id!r} is no id of a stored message")
    return int.from_bytes(bytes.fromhex(message_id)[-_OFFSET_SIZE:], "big")


def store_host_of(message_id: str) -> str:
    """The broker in the id of a stored message, as `address:port`.

    Raises:
        ValueError: It is no such id.
    """
    if len(message_id) not in _LENGTHS:
        raise ValueError(f"{message_id!r} is no id of a stored message")
    place = bytes.fromhex(message_id)[:-_OFFSET_SIZE]
    address, port = ipaddress.ip_address(place[:-_PORT_SIZE]), int.from_bytes(place[-_PORT_SIZE:], "big")
    return f"[{address}]:{port}" if address.version == _VERSION_6 else f"{address}:{port}"


class UniqueIds:
    """Ids for messages that came without one: address, process, maker, milliseconds of the month, a count."""

    def __init__(self, store_host: str, *, process_id: int, maker: int) -> None:
        address, _, _ = store_host.rpartition(":")
        packed = ipaddress.ip_address(address.strip("[]")).packed
        self._prefix = packed + struct.pack(">HI", process_id & 0xFFFF, maker)
        # Asked by several threads at a time, it gives each another number.
        self._counts = itertools.count(1)
        # All that ids of one millisecond have in common: a busy producer makes many of them.
        self._latest = (-1, "")

    def next(self, *, wall_ms: int) -> str:
        """An id that no other maker gives, and this one not within 65,536 in a millisecond."""
        count = next(self._counts) & 0xFFFF
        at_ms, front = self._latest
        if at_ms != wall_ms:
            front = self._front(wall_ms)
            self._latest = (wall_ms, front)
        return f"{front}{count:04X}"

    def _front(self, wall_ms: int) -> str:
        day_of_month = datetime.fromtimestamp(wall_ms // 1_000, tz=UTC).day
        month_ms = (day_of_month - 1) * MILLISECONDS_OF_DAY + wall_ms % MILLISECONDS_OF_DAY
        return (self._prefix + struct.pack(">I", month_ms)).hex().upper()
