"""What commands print: tables and facts for people, JSON for programs. Nothing else draws or encodes.

People and programs get the same values: a column is an attribute of what is shown, and its unit, the end of its name,
says how people read it. What servers tell is text and nothing more: control characters, with which a message could take
a terminal over, are written out.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import click
import msgspec
from rich.console import Console
from rich.table import Table

UNKNOWN: Final = "-"
# Where nobody looks, no line is broken: programs read them.
_ENDLESS: Final = 100_000
_TIME: Final = "_at_ms"
_RATIO: Final = "_ratio"


def console() -> Console:
    """Where tables go. Nothing in them is markup: an address of version 6 has brackets."""
    shown = Console(markup=False, highlight=False, emoji=False)
    return shown if shown.is_terminal else Console(markup=False, highlight=False, emoji=False, width=_ENDLESS)


def show_json(value: object) -> None:
    """A value with all that is in it, on many lines."""
    click.echo(msgspec.json.format(msgspec.json.encode(value, enc_hook=str)))


def show_json_line(value: object) -> None:
    """A value on a line of its own: one of many, of which nobody knows yet how many."""
    click.echo(msgspec.json.encode(value, enc_hook=str))


def show_table(items: Sequence[object], columns: Mapping[str, str], *, empty: str) -> None:
    """A row for each item, a column for each title and the attribute that it shows; a sentence where there are none."""
    if not items:
        click.echo(empty)
        return
    table = Table()
    for title, name in columns.items():
        known = [value for item in items if (value := getattr(item, name)) is not None]
        is_number = bool(known) and all(_is_number(name, value) for value in known)
        table.add_column(title, justify="right" if is_number else "left", overflow="fold")
    for item in items:
        table.add_row(*(_cell_text(name, getattr(item, name)) for name in columns.values()))
    console().print(table)


def show_list(items: Sequence[object], columns: Mapping[str, str], *, empty: str, is_json: bool) -> None:
    """All items: with all that is in them for programs, as a table of these columns for people."""
    if is_json:
        show_json(items)
    else:
        show_table(items, columns, empty=empty)


def show_facts(facts: Mapping[str, object]) -> None:
    """A line for each fact: its name, then its value."""
    table = Table(show_header=False, box=None)
    table.add_column()
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(printable(name), text_of(value))
    console().print(table)


def text_of(value: object) -> str:
    """A value as people read it."""
    if value is None or value in ("", [], {}):
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.1f}"
    if isinstance(value, Mapping):
        value = [f"{key}={item}" for key, item in value.items()]
    return printable(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def printable(text: str) -> str:
    """The same text with everything written out that is not to be seen; lines stay lines."""
    return "".join(
        character if character.isprintable() or character == "\n" else character.encode("unicode_escape").decode()
        for character in text
    )


def time_text(time_ms: int | None) -> str:
    """A time as people read it, in UTC."""
    if not time_ms:
        return "never"
    return datetime.fromtimestamp(time_ms / 1_000, UTC).isoformat(sep=" ", timespec="milliseconds")


def count_text(number: int, noun: str) -> str:
    """So many of something."""
    plural = f"{noun.removesuffix('y')}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def values(found: object, names: Iterable[str]) -> dict[str, Any]:
    """Attributes of a native value, which can't list them itself."""
    return {name: getattr(found, name) for name in names}


def _cell_text(name: str, value: Any) -> str:
    if name.endswith(_TIME):
        return time_text(value)
    return f"{value:.0%}" if name.endswith(_RATIO) and value is not None else text_of(value)


def _is_number(name: str, value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not name.endswith(_TIME)
