"""The example's books notice what they are there to notice."""

import pytest
from examples.orders.story import Books


@pytest.mark.parametrize(
    ("placed", "billed", "acknowledged", "agree"),
    [
        ({1, 2, 3}, {1, 2, 3}, {1, 2}, True),
        ({1, 2}, {1}, {1}, False),
        ({1}, {1, 2}, {1}, False),
        ({1}, {1}, {1, 2}, False),
        (set(), set(), set(), False),
    ],
)
def test_books_agree_if_each_order_has_its_invoice_and_no_answer_was_a_lie(
    placed: set[int], billed: set[int], acknowledged: set[int], *, agree: bool
) -> None:
    assert Books({1, 2, 3}, acknowledged, placed, billed).agree() is agree
