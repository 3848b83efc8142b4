"""`escrowmq namesrv`: a name server in the foreground."""

from pathlib import Path

import click

from escrowmq.cli.options import HOST_HELP, log_options, refusing_in_words
from escrowmq.cli.serving import serve
from escrowmq.config import Config, NameServerConfig, default_data_folder, load_config, with_settings
from escrowmq.serving import Served


@click.command()
@click.option("--port", type=int, help="Port to listen on; 0 means any that is free. Default: 9876.")
@click.option("--host", help=HOST_HELP)
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the key-value configuration.")
@click.option("--config", "config_path", type=click.Path(path_type=Path), help="escrowmq.toml, or RocketMQ's .conf.")
@log_options("info")
def namesrv(*, port: int | None, host: str | None, data: Path | None, config_path: Path | None, logs: Served) -> None:
    """Runs a name server: brokers register with it, and clients ask it where topics are."""
    with refusing_in_words():
        config = _settings(port, host, data, config_path)
        folder = Path(config.data) if config.data else default_data_folder(f"namesrv-{config.port}")
        # Imported when needed: a wrong option is refused without loading a server.
        from escrowmq.namesrv.app import NameServer  # noqa: PLC0415

        with NameServer(config, data=folder) as server:
            click.echo(f"name server at {', '.join(server.addresses)}, data in {folder}")
            serve([server, logs])


def _settings(port: int | None, host: str | None, data: Path | None, config_path: Path | None) -> NameServerConfig:
    """The file's settings, and above them what the command line says."""
    file = load_config(config_path) if config_path is not None else Config()
    said = {"port": port, "host": host, "data": str(data) if data is not None else None}
    return with_settings(file.namesrv, {key: value for key, value in said.items() if value is not None})
