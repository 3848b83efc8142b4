"""docs/cli.md lists every command that asks servers, in the words of its own help."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from escrowmq.cli import asking
from escrowmq.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
ASKING = ("cluster", "topic", "group", "message", "tx", "barrier")
NOT_THERE = "\u2013"


def commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The commands below one, and their help."""
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from commands(below, (*path, name))
    else:
        yield " ".join(path), " ".join((command.help or "").split())


def all_commands() -> dict[str, str]:
    context = click.Context(main)
    found = {name: main.get_command(context, name) for name in ASKING}
    return dict(pair for name, command in found.items() if command for pair in commands(command, (name,)))


def test_the_page_lists_every_command_with_what_it_does_and_its_name_in_mqadmin() -> None:
    row = r"^\| `escrowmq ([a-z -]+?)(?: [^a-z`][^`]*)?` \| (.+?\.) \| (.+) \|$"
    listed = re.findall(row, PAGE, flags=re.MULTILINE)
    defined = [(path, _sentence(text), _in_mqadmin(text)) for path, text in all_commands().items()]
    assert sorted(listed) == sorted(defined)


def _sentence(text: str) -> str:
    return text.partition(".")[0] + "."


def _in_mqadmin(text: str) -> str:
    _, found, names = text.rpartition("In mqadmin: ")
    return names.removesuffix(".") if found else NOT_THERE


@pytest.mark.parametrize("name", ["REFUSED", "NOT_THERE", "UNREACHABLE"])
def test_the_page_lists_the_exit_codes(name: str) -> None:
    assert re.search(rf"^\| {getattr(asking, name)} \| \S", PAGE, flags=re.MULTILINE)
