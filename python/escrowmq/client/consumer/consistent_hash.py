"""A ring of hashes: who stands next behind a text has it. Pure, and the same ring as RocketMQ's for the same names."""

import hashlib
from bisect import bisect_left
from collections.abc import Sequence


class HashRing:
    """Names, each at several places of the ring; of two at one place the later has it."""

    def __init__(self, names: Sequence[str], *, places: int) -> None:
        owners = {_hash(f"{name}-{place}"): name for name in names for place in range(places)}
        self._places = sorted(owners)
        self._owners = owners

    def owner(self, text: str) -> str:
        """The name at the text's place, or at the next one behind it."""
        found = bisect_left(self._places, _hash(text))
        return self._owners[self._places[found % len(self._places)]]


def _hash(text: str) -> int:
    """Compat: the first four bytes of MD5, as RocketMQ takes them."""
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[:4], "big")
