"""The positions that Apache's own Bloom filter gives the same texts."""

import pytest

from escrowmq.broker.bloom_positions import bloom_positions


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("g#t", [22, 87, 58]),
        ("h1#orders", [42, 70, 39]),
        ("billing#orders", [31, 20, 9]),
        ("0123456789abcde", [87, 93, 12]),
        ("0123456789abcdef", [11, 47, 60]),
        ("0123456789abcdef0", [60, 67, 74]),
        ("consumers-of-orders#payments", [20, 34, 89]),
        ("grün#消息", [101, 69, 74]),
        ("CID_some_rather_long_consumer_group_name#%RETRY%and_a_longer_topic_name_too", [4, 7, 101]),
    ],
)
def test_positions_are_apaches(text: str, positions: list[int]) -> None:
    assert bloom_positions(text) == positions
