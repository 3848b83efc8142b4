"""`escrowmq store`: shows and checks a store offline, and makes one whole that a crash has left.

Exit codes: 0, it is whole; 1, it is damaged; 2, the command line is wrong; 3, there is no store that can be looked at.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from msgspec.structs import asdict

from escrowmq._core import Inspection
from escrowmq.cli import store_report
from escrowmq.cli.options import BrokerOptions
from escrowmq.config import Config
from escrowmq.errors import ConfigError, ForeignFile, MissingFile, NotALog, StoreError, StoreInUse, WrongSize

DAMAGED: Final = 1
NO_STORE: Final = 3

_SIZES: Final = ("segment_size_bytes", "queue_file_entries", "index_slots", "index_entries")
# What is wrong with a store that can't even be opened.
_DAMAGES: Final = (ForeignFile, MissingFile, NotALog, WrongSize)

Command = TypeVar("Command", bound=Callable[..., Any])


class _Damaged(click.ClickException):
    exit_code = DAMAGED


class _NoStore(click.ClickException):
    exit_code = NO_STORE


@click.group()
def store() -> None:
    """Shows and checks a store offline, or makes it whole after a crash."""


def _options(command: Command) -> Command:
    """What all of them are told."""
    for option in (
        click.option("--json", "is_json", is_flag=True, help="Values for programs instead of tables for people."),
        click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting that it was made with."),
        click.option("--config", "config_path", type=click.Path(path_type=Path), help="A file of such settings."),
        click.argument("folder", type=click.Path(path_type=Path)),
    ):
        command = option(command)
    return command


@store.command()
@_options
def inspect(*, folder: Path, config_path: Path | None, settings: tuple[str, ...], is_json: bool) -> None:
    """Shows what a store holds.

    That is its log, topics, key index and checkpoint. Nothing is changed.
    Exits with 0, or with 3 where there is no store that can be looked at.
    """
    try:
        summary = Inspection.open(folder, **_sizes(_config(config_path, settings))).summary()
    except StoreError as error:
        raise _NoStore(str(error)) from error
    if summary.holder is not None:
        click.echo(f"process {summary.holder} has the store open: it goes on meanwhile", err=True)
    store_report.show_summary(summary, is_json=is_json)


@store.command()
@_options
def verify(*, folder: Path, config_path: Path | None, settings: tuple[str, ...], is_json: bool) -> None:
    """Checks whether a store is whole.

    Every record, queue entry and index entry, and how they agree. Nothing is changed.
    Exits with 0 for a whole store, 1 for a damaged one, 3 where there is none that can be looked at or it is open.
    """
    try:
        inspection = Inspection.open(folder, **_sizes(_config(config_path, settings)))
        holder = inspection.summary().holder
        if holder is not None:
            raise _NoStore(f"process {holder} has the store open: stop it, or verify a copy")
        store_report.run_check(inspection)
    except _DAMAGES as error:
        raise _Damaged(str(error)) from error
    except StoreError as error:
        raise _NoStore(str(error)) from error
    store_report.show_findings(inspection, folder, is_json=is_json)
    if inspection.errors:
        raise SystemExit(DAMAGED)


@store.command()
@_options
def recover(*, folder: Path, config_path: Path | None, settings: tuple[str, ...], is_json: bool) -> None:
    """Makes a store whole after a crash, to be handed to Apache's broker.

    Cuts the torn end of the log, makes queues and index agree with it, writes the op records of decisions that stand,
    and how far transactions are. A broker of ours does all that when it starts. Nothing expires.
    Exits with 0, with 1 for a store that is damaged, 3 where there is none, or it is open.
    """
    # The broker's parts take their time to load.
    from escrowmq.broker import recovering  # noqa: PLC0415

    config = _config(config_path, settings)
    try:
        # What is no store must not become one.
        Inspection.open(folder, **_sizes(config))
        recovered = recovering.recover(folder, config.broker, config.store)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    except _DAMAGES as error:
        raise _Damaged(str(error)) from error
    except StoreInUse as error:
        raise _NoStore(f"{error}: stop it first") from error
    except StoreError as error:
        raise _NoStore(str(error)) from error
    store_report.show_recovered(recovered, is_json=is_json)


def _config(config_path: Path | None, settings: tuple[str, ...]) -> Config:
    """The settings that it was made with, as far as they were told."""
    nothing = dict.fromkeys(BrokerOptions.__struct_fields__)
    options = BrokerOptions(**{**nothing, "config_path": config_path, "settings": settings})  # type: ignore[arg-type]
    try:
        return options.read_config()
    except ConfigError as error:
        raise click.UsageError(str(error)) from error


def _sizes(config: Config) -> dict[str, int]:
    """Those that its files do not tell."""
    return {name: value for name, value in asdict(config.store).items() if name in _SIZES}
