"""Statements as drivers want them."""

import pytest

from escrowmq.sql.running import rendered


@pytest.mark.parametrize(
    ("paramstyle", "expected"),
    [
        ("qmark", "a ? b ? c"),
        ("format", "a %s b %s c"),
        ("pyformat", "a %s b %s c"),
        ("numeric", "a :1 b :2 c"),
        ("numeric_dollar", "a $1 b $2 c"),
    ],
)
def test_placeholders_are_the_drivers(paramstyle: str, expected: str) -> None:
    assert rendered("a ? b ? c", paramstyle) == expected


def test_a_driver_that_wants_names_is_refused() -> None:
    with pytest.raises(ValueError, match="named"):
        rendered("a ?", "named")
