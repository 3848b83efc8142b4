"""`escrowmq broker`: a broker in the foreground."""

import click
import structlog

from escrowmq.cli.options import BrokerOptions, broker_folder, broker_options, log_options, refusing_in_words
from escrowmq.cli.pages import broker_pages
from escrowmq.cli.serving import serve
from escrowmq.serving import Served

_log = structlog.get_logger()


@click.command()
@broker_options
@log_options("info")
def broker(options: BrokerOptions, *, logs: Served) -> None:
    """Runs a broker.

    It keeps messages; clients send to it and read from it.
    """
    with refusing_in_words():
        config = options.read_config()
        folder = broker_folder(config)
        # Imported when needed: a wrong option is refused without loading a server.
        from escrowmq.broker.app import Broker  # noqa: PLC0415

        with Broker(config.broker, config.store, data=folder) as server:
            with broker_pages(server, config.broker) as pages:
                greeting = f"broker {config.broker.name} at {', '.join(server.addresses)}, data in {folder}"
                serve([server, logs, *pages], greeting=greeting)
            _log.info("broker stops", broker=config.broker.name)
