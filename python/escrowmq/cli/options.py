"""What subcommands share: their options, and how they say what went wrong."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, get_args

import click
import structlog
from msgspec import Struct

from escrowmq.config import Config, default_data_folder, load_broker_config, with_setting
from escrowmq.errors import EscrowError
from escrowmq.telemetry.logging import LogForm, LogLevel, configure_logging
from escrowmq.telemetry.native_logs import NativeLogs

Command = Callable[..., None]

METRICS_HELP: Final = "Port of /metrics, /healthz and /readyz; 0 means any that is free. Default: there are none."
HOST_HELP: Final = "Address to listen on. Default: 127.0.0.1, so only this machine is served."

_log = structlog.get_logger()


class BrokerOptions(Struct, frozen=True, kw_only=True):
    """What the command line says of a broker; None where it says nothing."""

    name: str | None
    port: int | None
    host: str | None
    namesrv: str | None
    data: Path | None
    metrics_port: int | None
    config_path: Path | None
    settings: tuple[str, ...]

    def read_config(self) -> Config:
        """The settings of the file, above them those of `--set`, and above all the options.

        Raises:
            ConfigError: A key is unknown, or has no such value.
        """
        config = Config()
        if self.config_path is not None:
            config, ignored = load_broker_config(self.config_path)
            for key in ignored:
                _log.warning("setting means nothing here", key=key, file=str(self.config_path))
        for setting in self.settings:
            key, separator, text = setting.partition("=")
            if not separator:
                raise click.BadParameter(f"{setting!r} is not KEY=VALUE", param_hint="--set")
            config = with_setting(config, key.strip(), text)
        said = {
            "name": self.name,
            "port": self.port,
            "host": self.host,
            "name_servers": self.namesrv,
            "data": self.data,
            "metrics_port": self.metrics_port,
        }
        for key, value in said.items():
            if value is not None:
                config = with_setting(config, f"broker.{key}", str(value))
        return config


def broker_options(command: Command) -> Command:
    """Gives a command the options of a broker, as one value."""

    @click.option("--name", help="Name of the broker. Default: broker-a.")
    @click.option("--port", type=int, help="Port of the broker; 0 means any that is free. Default: 10911.")
    @click.option("--host", help=HOST_HELP)
    @click.option("--namesrv", help="Name servers to register with: HOST:PORT, several separated by semicolons.")
    @click.option("--data", type=click.Path(path_type=Path), help="Folder of everything that is kept.")
    @click.option("--metrics-port", type=int, help=METRICS_HELP)
    @click.option(
        "--config", "config_path", type=click.Path(path_type=Path), help="escrowmq.toml, or RocketMQ's broker.conf."
    )
    @click.option(
        "--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting: broker.KEY, store.KEY or RocketMQ's."
    )
    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        said = {name: given.pop(name) for name in BrokerOptions.__struct_fields__}
        command(BrokerOptions(**said), **given)

    return with_options


def log_options(level: LogLevel) -> Callable[[Command], Command]:
    """Gives a command the options of its logs, sets them up, and hands over the native ones to be served."""

    def decorate(command: Command) -> Command:
        @click.option("--log-level", type=click.Choice(get_args(LogLevel)), default=level)
        @click.option("--log-form", type=click.Choice(get_args(LogForm)), default="text")
        @functools.wraps(command)
        def with_logs(*arguments: Any, log_level: LogLevel, log_form: LogForm, **given: Any) -> None:
            configure_logging(level=log_level, form=log_form)
            with NativeLogs(log_level) as logs:
                command(*arguments, logs=logs, **given)

        return with_logs

    return decorate


@contextlib.contextmanager
def refusing_in_words() -> Iterator[None]:
    """An error of ours ends the command with its message and without a trace."""
    try:
        yield
    except EscrowError as error:
        raise click.ClickException(str(error)) from error


def broker_folder(config: Config) -> Path:
    """Where the store is."""
    return Path(config.broker.data) if config.broker.data else default_data_folder(config.broker.name)
