"""Property strings, as Java reads and writes them."""

import pytest

from escrowmq import Message
from escrowmq.protocol import properties


@pytest.mark.parametrize(
    "text",
    [
        "",
        "TAGS\x01a\x02",
        "TAGS\x01a",
        "a\x01b\x01c\x02",
        "\x01b\x02a\x01\x02x\x02",
        "a\x011\x02a\x012\x02",
        "城\x01市\x02",
    ],
)
def test_pairs_are_those_that_the_store_reads(text: str) -> None:
    assert properties.decode(text) == Message("orders", b"", properties=text.encode()).properties


def test_pairs_are_written_in_their_order() -> None:
    pairs = {"b": "1", "a": "城市"}
    assert properties.encode(pairs) == "b\x011\x02a\x01城市\x02".encode()
    assert properties.decode(properties.encode(pairs).decode()) == pairs
