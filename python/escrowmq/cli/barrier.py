"""`escrowmq barrier`: the table in a user's database that tells what became of transactions."""

import functools
from collections.abc import Callable
from typing import Final, ParamSpec

import click

from escrowmq.admin import transactions
from escrowmq.admin.client import Admin
from escrowmq.cli import output
from escrowmq.cli.asking import asking
from escrowmq.errors import BarrierError, MissingExtra
from escrowmq.sql.database import Database, create_barrier
from escrowmq.sql.proving import prove
from escrowmq.sql.sources import source_of
from escrowmq.sql.sweeping import KEEP_MS, sweep

P = ParamSpec("P")

_URL: Final = click.argument("url", metavar="URL")
_GROUP: Final = click.option("--group", metavar="NAME", required=True, help="The producer group of the service.")
_HOUR_MS: Final = 3_600_000
_ALL: Final = 1 << 31


def _refusing(command: Callable[P, None]) -> Callable[P, None]:
    """A command that says in a sentence why a database is refused."""

    @functools.wraps(command)
    def refusing(*arguments: P.args, **options: P.kwargs) -> None:
        try:
            command(*arguments, **options)
        except (BarrierError, MissingExtra) as error:
            raise click.ClickException(str(error)) from error

    return refusing


@click.group()
def barrier() -> None:
    """Makes, proves and sweeps the barrier of a database.

    URL is SQLAlchemy's, as sqlite:///orders.db or postgresql+psycopg://user@host/orders.
    """


@barrier.command()
@_URL
@_refusing
def init(url: str) -> None:
    """Makes the tables where they are missing."""
    source = source_of(url)
    create_barrier(source)
    click.echo(f"the barrier of database {Database(source).id} stands")


@barrier.command()
@_URL
@_GROUP
@_refusing
def verify(url: str, group: str) -> None:
    """Proves that open, rolled back and committed transactions are told apart.

    Three transactions are run; nothing of them is left.
    """
    prove(Database(source_of(url)), group)
    click.echo("open is unknown, rolled back is rolled back, committed is committed")


@barrier.command("sweep")
@_URL
@_GROUP
@click.option(
    "--keep-hours", type=click.IntRange(min=1), default=KEEP_MS // _HOUR_MS, show_default=True, help="Rows to spare."
)
@click.option("--apache", "is_apache", is_flag=True, help="Brokers are Apache's: they forget what is older than that.")
@asking
@_refusing
def sweep_(admin: Admin, *, url: str, group: str, keep_hours: int, is_apache: bool, is_json: bool) -> None:
    """Takes rows away that nobody will ask about any more.

    Those of transactions that are pending at a broker are spared, so all brokers have to answer.
    """
    oldest_ms = None if is_apache else _oldest_pending_ms(admin, group)
    done = sweep(Database(source_of(url)), group, oldest_pending_ms=oldest_ms, keep_ms=keep_hours * _HOUR_MS)
    if is_json:
        output.show_json(done)
    else:
        click.echo(f"{done.rows} rows are gone")


def _oldest_pending_ms(admin: Admin, group: str) -> int | None:
    found = transactions.list_transactions(admin, admin.masters(), group=group, count_max=_ALL)
    return min((one.prepared_at_ms for one in found), default=None)
