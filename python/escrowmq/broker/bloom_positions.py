"""The positions of a text in RocketMQ's Bloom filter: MurmurHash3 in its 128-bit form for 64-bit machines.

We filter by the messages themselves and need none of it. An Apache broker that takes a store over needs it in
consumerFilter.json: it drops the whole file where one filter has no positions.
"""

from typing import Final

BIT_COUNT: Final = 112
"""Bits of the filter: Apache's for its defaults, 32 consumers and 20 % errors."""
POSITION_COUNT: Final = 3

_MASK: Final = 2**64 - 1
_FACTOR_1: Final = 0x87C37B91114253D5
_FACTOR_2: Final = 0x4CF5AD432745937F


def bloom_positions(text: str) -> list[int]:
    """The bits that stand for a text."""
    hashed = murmur3_64(text.encode())
    first, second = _signed(hashed), _signed(hashed >> 32)
    combined = (_signed(first + number * second) for number in range(1, POSITION_COUNT + 1))
    return [(~value if value < 0 else value) % BIT_COUNT for value in combined]


def murmur3_64(data: bytes) -> int:
    """The first half of the hash, from seed 0."""
    hash_1 = hash_2 = 0
    whole = len(data) & ~15
    for at in range(0, whole, 16):
        hash_1 ^= _scrambled(_word(data[at : at + 8]), _FACTOR_1, 31, _FACTOR_2)
        hash_1 = ((_rotated(hash_1, 27) + hash_2) * 5 + 0x52DCE729) & _MASK
        hash_2 ^= _scrambled(_word(data[at + 8 : at + 16]), _FACTOR_2, 33, _FACTOR_1)
        hash_2 = ((_rotated(hash_2, 31) + hash_1) * 5 + 0x38495AB5) & _MASK
    # What is left over; a word without bytes changes nothing.
    hash_1 ^= _scrambled(_word(data[whole : whole + 8]), _FACTOR_1, 31, _FACTOR_2)
    hash_2 ^= _scrambled(_word(data[whole + 8 :]), _FACTOR_2, 33, _FACTOR_1)
    hash_1 ^= len(data)
    hash_2 ^= len(data)
    hash_1 = (hash_1 + hash_2) & _MASK
    hash_2 = (hash_2 + hash_1) & _MASK
    return (_finished(hash_1) + _finished(hash_2)) & _MASK


def _word(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK


def _scrambled(word: int, before: int, bits: int, after: int) -> int:
    return _rotated(word * before & _MASK, bits) * after & _MASK


def _finished(value: int) -> int:
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & _MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ value >> 33


def _signed(value: int) -> int:
    """The low 32 bits as Java's int."""
    return ((value & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000
