"""The command `escrowmq` and its subcommands."""

import importlib
from typing import Final

import click

from escrowmq.cli.serving import take_all_descriptors

_SUBCOMMANDS: Final = (
    "up",
    "broker",
    "namesrv",
    "cluster",
    "topic",
    "group",
    "message",
    "tx",
    "barrier",
    "ledger",
    "store",
)


class _Subcommands(click.Group):
    """Loads a subcommand when it is called: a server does not pay for tables, nor a table for a server."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click passes it
        return list(_SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click passes it
        if cmd_name not in _SUBCOMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"escrowmq.cli.{cmd_name}"), cmd_name)
        return command


@click.group(cls=_Subcommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="escrowmq")
def main() -> None:
    """Holds a message in escrow until your database decides.

    up, broker and namesrv run servers; cluster, topic, group, message and tx ask servers that run, ours and Apache's;
    store looks at the files of one that does not; ledger compares what was sent with what was consumed.
    """
    take_all_descriptors()
