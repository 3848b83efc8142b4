"""`escrowmq namesrv`: a name server in the foreground."""

from collections.abc import Mapping
from pathlib import Path

import click

from escrowmq.cli.options import HOST_HELP, METRICS_HELP, log_options, refusing_in_words
from escrowmq.cli.pages import name_server_pages
from escrowmq.cli.serving import serve
from escrowmq.config import Config, NameServerConfig, default_data_folder, load_config, with_settings
from escrowmq.serving import Served


@click.command()
@click.option("--port", type=int, help="Port to listen on; 0 means any that is free. Default: 9876.")
@click.option("--host", help=HOST_HELP)
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the key-value configuration.")
@click.option("--metrics-port", type=int, help=METRICS_HELP)
@click.option("--config", "config_path", type=click.Path(path_type=Path), help="escrowmq.toml, or RocketMQ's .conf.")
@log_options("info")
def namesrv(*, config_path: Path | None, logs: Served, **said: int | str | Path | None) -> None:
    """Runs a name server.

    Brokers register with it, and clients ask it where topics are.
    """
    with refusing_in_words():
        config = _settings(config_path, said)
        folder = Path(config.data) if config.data else default_data_folder(f"namesrv-{config.port}")
        # Imported when needed: a wrong option is refused without loading a server.
        from escrowmq.namesrv.app import NameServer  # noqa: PLC0415

        with NameServer(config, data=folder) as server, name_server_pages(server, config) as pages:
            greeting = f"name server at {', '.join(server.addresses)}, data in {folder}"
            serve([server, logs, *pages], greeting=greeting)


def _settings(config_path: Path | None, said: Mapping[str, int | str | Path | None]) -> NameServerConfig:
    """The file's settings, and above them what the command line says."""
    file = load_config(config_path) if config_path is not None else Config()
    plain = {key: str(value) if isinstance(value, Path) else value for key, value in said.items()}
    return with_settings(file.namesrv, {key: value for key, value in plain.items() if value is not None})
