"""The command as tests call it, and what it prints taken apart: tables into rows, facts into pairs."""

import json
from typing import Any

from click.testing import CliRunner, Result

from escrowmq.cli.main import main

Row = dict[str, str]


def call(*arguments: str, stdin: bytes | None = None) -> Result:
    """What becomes of a command line."""
    return CliRunner().invoke(main, arguments, input=stdin)


class Terminal:
    """Asks one name server."""

    def __init__(self, name_server: str) -> None:
        self._options = ("--namesrv", name_server)

    def run(self, *arguments: str, stdin: bytes | None = None) -> Result:
        """A command, however it ends."""
        return call(*arguments, *self._options, stdin=stdin)

    def text(self, *arguments: str, stdin: bytes | None = None) -> str:
        """What a command prints for people; it succeeds."""
        done = self.run(*arguments, stdin=stdin)
        assert done.exit_code == 0, done.output
        assert done.stderr == ""
        return done.stdout

    def tables(self, *arguments: str) -> list[list[Row]]:
        """The tables that a command prints."""
        return tables_of(self.text(*arguments))

    def table(self, *arguments: str) -> list[Row]:
        """The one table that a command prints."""
        (table,) = self.tables(*arguments)
        return table

    def facts(self, *arguments: str) -> Row:
        """The facts that a command prints."""
        return facts_of(self.text(*arguments))

    def json(self, *arguments: str) -> Any:
        """What a command prints for programs."""
        return json.loads(self.text(*arguments, "--json"))


def tables_of(text: str) -> list[list[Row]]:
    """The tables of a text, each row by the titles of its columns."""
    tables: list[list[Row]] = []
    titles: list[str] = []
    for line in text.splitlines():
        if line.startswith("┃"):
            titles = _cells(line, "┃")
            tables.append([])
        elif line.startswith("│"):
            tables[-1].append(dict(zip(titles, _cells(line, "│"), strict=True)))
    return tables


def facts_of(text: str) -> Row:
    """The facts of a text: names and values, two spaces apart."""
    pairs = (line.strip().partition("  ") for line in text.splitlines() if line.startswith(" "))
    return {name: value.strip() for name, _, value in pairs}


def _cells(line: str, border: str) -> list[str]:
    return [cell.strip() for cell in line.strip(border).split(border)]
