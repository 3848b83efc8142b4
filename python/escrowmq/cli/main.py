"""The command `escrowmq` and its subcommands."""

import click

from escrowmq.cli.broker import broker
from escrowmq.cli.namesrv import namesrv
from escrowmq.cli.serving import take_all_descriptors
from escrowmq.cli.store import store
from escrowmq.cli.up import up


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="escrowmq")
def main() -> None:
    """Holds a message in escrow until your database decides."""
    take_all_descriptors()


main.add_command(up)
main.add_command(broker)
main.add_command(namesrv)
main.add_command(store)
