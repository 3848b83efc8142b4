"""`escrowmq up`: a name server and a broker in one process, for a laptop, a test or a first look."""

from pathlib import Path

import click
import structlog
from msgspec.structs import replace

from escrowmq.cli.options import BrokerOptions, broker_folder, broker_options, log_options, refusing_in_words
from escrowmq.cli.pages import broker_pages, name_server_pages
from escrowmq.cli.serving import serve
from escrowmq.config import Config, default_data_folder, with_settings
from escrowmq.serving import Served

_log = structlog.get_logger()


@click.command()
@broker_options
@click.option("--namesrv-port", type=int, help="Port of the name server; 0 means any that is free. Default: 9876.")
@log_options("warning")
def up(options: BrokerOptions, *, namesrv_port: int | None, logs: Served) -> None:
    """Runs a name server and a broker together. Nothing has to be set up."""
    with refusing_in_words():
        _run(_both(options, namesrv_port), logs)


def _both(options: BrokerOptions, namesrv_port: int | None) -> Config:
    """The settings of both, each with a folder of its own in the one that the command line names."""
    data = options.data
    said = {"host": options.host, "port": namesrv_port, "data": str(data / "namesrv") if data else None}
    config = replace(options, data=data / "broker" if data else None).read_config()
    changes = {key: value for key, value in said.items() if value is not None}
    return replace(config, namesrv=with_settings(config.namesrv, changes))


def _run(config: Config, logs: Served) -> None:
    # Imported when needed: a wrong option is refused without loading a server.
    from escrowmq.broker.app import Broker  # noqa: PLC0415
    from escrowmq.namesrv.app import NameServer  # noqa: PLC0415

    namesrv_folder = Path(config.namesrv.data) if config.namesrv.data else default_data_folder("namesrv")
    folder = broker_folder(config)
    with NameServer(config.namesrv, data=namesrv_folder) as name_server:
        (own,) = name_server.addresses
        settings = replace(config.broker, name_servers=[own, *config.broker.name_servers])
        with Broker(settings, config.store, data=folder, while_stopping=name_server.step) as broker:
            with broker_pages(broker, settings) as pages, name_server_pages(name_server, config.namesrv) as others:
                greeting = (
                    f"name server  {own}\n"
                    f"broker       {broker.advertised} ({settings.name}, {settings.cluster})\n"
                    f"data         {folder}\n"
                    "stop with Ctrl-C"
                )
                servers: list[Served] = [name_server, broker, logs, *pages, *others]
                # Whoever reads that it is there may ask for a route at once, and some clients take no for an answer.
                serve(servers, greeting=greeting, is_ready=lambda: own in broker.registered_at)
            _log.info("stopping")
