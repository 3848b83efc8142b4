"""`escrowmq broker`: a broker in the foreground."""

from collections.abc import Iterable
from pathlib import Path

import click
import structlog

from escrowmq.cli.serving import serve
from escrowmq.config import Config, default_data_folder, load_broker_config, with_setting
from escrowmq.errors import EscrowError
from escrowmq.telemetry.logging import LogForm, configure_logging

_log = structlog.get_logger()


@click.command()
@click.option("--name", help="Name of the broker. Default: broker-a.")
@click.option("--port", type=int, help="Port to listen on; 0 means any that is free. Default: 10911.")
@click.option("--host", help="Address to listen on. Default: 127.0.0.1, so only this machine is served.")
@click.option("--namesrv", help="Name servers to register with: HOST:PORT, several separated by semicolons.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the store.")
@click.option(
    "--config", "config_path", type=click.Path(path_type=Path), help="escrowmq.toml, or RocketMQ's broker.conf."
)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting: broker.KEY, store.KEY or RocketMQ's."
)
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info")
@click.option("--log-form", type=click.Choice(["text", "json"]), default="text")
def broker(
    *,
    name: str | None,
    port: int | None,
    host: str | None,
    namesrv: str | None,
    data: Path | None,
    config_path: Path | None,
    settings: tuple[str, ...],
    log_level: str,
    log_form: LogForm,
) -> None:
    """Runs a broker: it keeps messages, and clients send to it and read from it."""
    configure_logging(level=log_level, form=log_form)
    said = {
        "broker.name": name,
        "broker.port": None if port is None else str(port),
        "broker.host": host,
        "broker.name_servers": namesrv,
        "broker.data": None if data is None else str(data),
    }
    try:
        config = read_settings(config_path, settings, said)
        folder = broker_folder(config)
        # Imported when needed: a wrong option is refused without loading a server.
        from escrowmq.broker.app import Broker  # noqa: PLC0415

        with Broker(config.broker, config.store, data=folder) as server:
            click.echo(f"broker {config.broker.name} at {', '.join(server.addresses)}, data in {folder}")
            serve([server])
            _log.info("broker stops", broker=config.broker.name)
    except EscrowError as error:
        raise click.ClickException(str(error)) from error


def read_settings(path: Path | None, settings: Iterable[str], said: dict[str, str | None]) -> Config:
    """The file's settings, above them those of `--set`, and above all the options.

    Raises:
        ConfigError: A key is unknown, or has no such value.
    """
    config = Config()
    if path is not None:
        config, ignored = load_broker_config(path)
        for key in ignored:
            _log.warning("setting means nothing here", key=key, file=str(path))
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator:
            raise click.BadParameter(f"{setting!r} is not KEY=VALUE", param_hint="--set")
        config = with_setting(config, key.strip(), value)
    for key, text in said.items():
        if text is not None:
            config = with_setting(config, key, text)
    return config


def broker_folder(config: Config) -> Path:
    """Where the store is."""
    return Path(config.broker.data) if config.broker.data else default_data_folder(config.broker.name)
