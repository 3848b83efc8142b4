"""`escrowmq ledger`: what was sent and is not confirmed yet, and the process that sees to it."""

import signal
import threading
from typing import TYPE_CHECKING, Final

import click

from escrowmq.cli import output

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

_URL: Final = click.argument("url", metavar="URL")
_JSON: Final = click.option("--json", "is_json", is_flag=True, help="As JSON, for programs.")
_NAME_SERVERS: Final = click.option(
    "-n",
    "--namesrv",
    "name_servers",
    metavar="HOST:PORT",
    default="127.0.0.1:9876",
    show_default=True,
    help="Where to ask for brokers; several with ; between them.",
)


@click.group()
def ledger() -> None:
    """Compares what producers sent with what consumers have.

    URL is SQLAlchemy's, of the database that the producer, or the consumers, keep their ledger in.
    """


@ledger.command()
@_URL
def init(url: str) -> None:
    """Makes the tables where they are missing."""
    from escrowmq.sql.ledger_tables import create_ledger  # noqa: PLC0415 - only with the extra

    with _engine(url).begin() as connection:
        create_ledger(connection)
    click.echo("the ledger's tables are there")


@ledger.command()
@_URL
@click.option("--group", metavar="NAME", default="", help="What this group has consumed, instead of what was sent.")
@_JSON
def status(url: str, group: str, is_json: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Shows how many messages are confirmed, and how many were sent again."""
    import msgspec  # noqa: PLC0415 - only here

    engine = _engine(url)
    from escrowmq.sql.ledger_consumed import ConsumedLedger  # noqa: PLC0415 - only with the extra
    from escrowmq.sql.ledger_sent import SentLedger  # noqa: PLC0415 - only with the extra

    found = ConsumedLedger(engine, group).status() if group else SentLedger(engine, "").status()
    facts = msgspec.to_builtins(found)
    if is_json:
        output.show_json(facts)
    else:
        output.show_facts({name.replace("_", " "): value for name, value in facts.items()})


@ledger.command()
@_URL
@_NAME_SERVERS
@click.option("--group", metavar="NAME", required=True, help="The group that sends; the one whose consumption it is.")
@click.option("--confirm-topic", metavar="NAME", help="Be the producer's side, and hear what is confirmed here.")
@click.option("--interval", "interval_s", type=click.FloatRange(min=0.1), default=5.0, show_default=True, metavar="S")
def run(url: str, name_servers: str, group: str, confirm_topic: str | None, interval_s: float) -> None:
    """Reports what the group has consumed, or, with --confirm-topic, sends again what nobody confirms. Until Ctrl-C."""
    engine = _engine(url)
    from escrowmq.sql.ledger_consumed import ConsumedLedger  # noqa: PLC0415 - only with the extra
    from escrowmq.sql.ledger_sent import SentLedger  # noqa: PLC0415 - only with the extra
    from escrowmq.sql.ledger_service import ConsumedLedgerService, SentLedgerService  # noqa: PLC0415 - as above

    service: SentLedgerService | ConsumedLedgerService
    if confirm_topic is None:
        service = ConsumedLedgerService(ConsumedLedger(engine, group), name_servers, group, interval_s=interval_s)
    else:
        service = SentLedgerService(SentLedger(engine, confirm_topic), name_servers, group, interval_s=interval_s)
    is_over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: is_over.set())
    with service:
        click.echo(f"the ledger of group {group} is kept; Ctrl-C ends it")
        is_over.wait()
    engine.dispose()


def _engine(url: str) -> "Engine":
    try:
        from sqlalchemy import create_engine  # noqa: PLC0415 - the base install has no SQLAlchemy
        from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 - as above
    except ImportError as error:
        raise click.ClickException("SQLAlchemy is missing: pip install 'escrowmq[sql]'") from error
    try:
        return create_engine(url)
    except (SQLAlchemyError, ImportError) as error:
        raise click.ClickException(f"{url} is no database: {error}") from error
