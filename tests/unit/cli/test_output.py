"""What is printed: for people and programs the same values, and never more than text."""

import json
from collections.abc import Callable

import pytest
from msgspec import Struct
from tests.commands.terminal import facts_of, tables_of

from escrowmq.cli import output

COLUMNS = {
    "name": "name",
    "size": "size",
    "last seen": "seen_at_ms",
    "full": "full_ratio",
    "tags": "tags",
    "is on": "is_on",
}
NOON_MS = 1_763_467_200_123
NOON = "2025-11-18 12:00:00.123+00:00"


class Item(Struct):
    """Something to show."""

    name: str = "a"
    size: int | None = 7
    seen_at_ms: int | None = NOON_MS
    full_ratio: float | None = 0.5
    tags: list[str] = []
    is_on: bool = True


def printed(show: Callable[[], None], capsys: pytest.CaptureFixture[str]) -> str:
    show()
    return capsys.readouterr().out


def test_a_column_is_read_by_its_unit(capsys: pytest.CaptureFixture[str]) -> None:
    items = [Item(), Item(name="b", size=None, seen_at_ms=None, full_ratio=None, tags=["x", "y"], is_on=False)]
    text = printed(lambda: output.show_table(items, COLUMNS, empty=""), capsys)
    assert tables_of(text) == [
        [
            {
                "name": "a",
                "size": "7",
                "last seen": "2025-11-18 12:00:00.123+00:00",
                "full": "50%",
                "tags": "-",
                "is on": "yes",
            },
            {"name": "b", "size": "-", "last seen": "never", "full": "-", "tags": "x, y", "is on": "no"},
        ]
    ]


def test_numbers_stand_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(lambda: output.show_table([Item(), Item(name="b", size=1_000)], COLUMNS, empty=""), capsys)
    assert "│ a    │    7 │" in text
    assert "│ b    │ 1000 │" in text


def test_a_list_is_a_table_or_all_its_values(capsys: pytest.CaptureFixture[str]) -> None:
    items = [Item()]
    told = printed(lambda: output.show_list(items, {"name": "name"}, empty="none", is_json=True), capsys)
    assert json.loads(told) == [
        {"name": "a", "size": 7, "seen_at_ms": NOON_MS, "full_ratio": 0.5, "tags": [], "is_on": True}
    ]
    assert printed(lambda: output.show_list([], COLUMNS, empty="none", is_json=True), capsys) == "[]\n"
    assert printed(lambda: output.show_list([], COLUMNS, empty="none", is_json=False), capsys) == "none\n"


def test_facts_stand_below_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    facts = {"name": "a", "rate": 1.25, "address": "[::1]:9876", "pairs": {"k": "v"}, "nothing": None}
    shown = facts_of(printed(lambda: output.show_facts(facts), capsys))
    assert shown == {"name": "a", "rate": "1.2", "address": "[::1]:9876", "pairs": "k=v", "nothing": "-"}


def test_lines_are_not_broken_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(lambda: output.show_table([Item(name="x" * 500)], {"name": "name"}, empty=""), capsys)
    assert "x" * 500 in text


def test_what_a_server_tells_does_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b]0;owned\x07\u202e[bold]"
    text = printed(lambda: output.show_table([Item(name=evil)], {"name": "name"}, empty=""), capsys)
    text += printed(lambda: output.show_facts({evil: evil}), capsys)
    assert "\x1b" not in text
    assert text.count("\\x1b]0;owned\\x07\\u202e[bold]") == 3


@pytest.mark.parametrize(
    ("number", "noun", "text"), [(1, "entry", "1 entry"), (2, "entry", "2 entries"), (0, "file", "0 files")]
)
def test_things_are_counted_in_words(number: int, noun: str, text: str) -> None:
    assert output.count_text(number, noun) == text
