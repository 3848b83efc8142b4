"""`escrowmq up`: a name server and a broker in one process, for a laptop, a test or a first look."""

from pathlib import Path

import click
import structlog
from msgspec.structs import replace

from escrowmq.cli.broker import broker_folder, read_settings
from escrowmq.cli.serving import serve
from escrowmq.config import Config, default_data_folder
from escrowmq.errors import EscrowError
from escrowmq.telemetry.logging import LogForm, configure_logging

_log = structlog.get_logger()


@click.command()
@click.option("--name", help="Name of the broker. Default: broker-a.")
@click.option("--port", type=int, help="Port of the broker; 0 means any that is free. Default: 10911.")
@click.option("--namesrv-port", type=int, help="Port of the name server; 0 means any that is free. Default: 9876.")
@click.option("--host", help="Address to listen on. Default: 127.0.0.1, so only this machine is served.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of everything that is kept.")
@click.option(
    "--config", "config_path", type=click.Path(path_type=Path), help="escrowmq.toml, or RocketMQ's broker.conf."
)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting: broker.KEY, store.KEY or RocketMQ's."
)
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="warning")
@click.option("--log-form", type=click.Choice(["text", "json"]), default="text")
def up(
    *,
    name: str | None,
    port: int | None,
    namesrv_port: int | None,
    host: str | None,
    data: Path | None,
    config_path: Path | None,
    settings: tuple[str, ...],
    log_level: str,
    log_form: LogForm,
) -> None:
    """Runs a name server and a broker together. Nothing has to be set up."""
    configure_logging(level=log_level, form=log_form)
    said = {
        "broker.name": name,
        "broker.port": None if port is None else str(port),
        "broker.host": host,
        "broker.data": None if data is None else str(data / "broker"),
    }
    try:
        config = read_settings(config_path, settings, said)
        _run(_with_name_server(config, host, namesrv_port, data))
    except EscrowError as error:
        raise click.ClickException(str(error)) from error


def _with_name_server(config: Config, host: str | None, port: int | None, data: Path | None) -> Config:
    namesrv = config.namesrv
    if host is not None:
        namesrv = replace(namesrv, host=host)
    if port is not None:
        namesrv = replace(namesrv, port=port)
    if data is not None:
        namesrv = replace(namesrv, data=str(data / "namesrv"))
    return replace(config, namesrv=namesrv)


def _run(config: Config) -> None:
    # Imported when needed: a wrong option is refused without loading a server.
    from escrowmq.broker.app import Broker  # noqa: PLC0415
    from escrowmq.namesrv.app import NameServer  # noqa: PLC0415

    namesrv_folder = Path(config.namesrv.data) if config.namesrv.data else default_data_folder("namesrv")
    folder = broker_folder(config)
    with NameServer(config.namesrv, data=namesrv_folder) as name_server:
        settings = replace(config.broker, name_servers=[*name_server.addresses, *config.broker.name_servers])
        with Broker(settings, config.store, data=folder, while_stopping=name_server.step) as broker:
            click.echo(
                f"name server  {', '.join(name_server.addresses)}\n"
                f"broker       {broker.advertised} ({settings.name}, {settings.cluster})\n"
                f"data         {folder}\n"
                "stop with Ctrl-C"
            )
            serve([name_server, broker])
            _log.info("stopping")
