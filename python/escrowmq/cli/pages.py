"""The pages that a running server shows to monitors: /metrics, /healthz and /readyz.

Tables are the serving thread's, so it is asked for what they say. A thread that does not answer in time does not serve
either, and that is what /healthz is to tell.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Final, Protocol, TypeAlias, TypeVar

import click

from escrowmq.broker_config import BrokerConfig
from escrowmq.config import NameServerConfig
from escrowmq.serving import Inbox, Served
from escrowmq.telemetry.metrics import Reading

TURN_TIME_S: Final = 2.0

Result = TypeVar("Result")


class Monitored(Protocol):
    """A server that tells of itself, on the thread that serves it."""

    @property
    def addresses(self) -> list[str]:
        """Where it listens."""

    def metrics(self) -> Iterator[Reading]:
        """What is measured; any thread may go through it."""

    def unready(self) -> str | None:
        """Why it does not serve at the moment; None if it does."""


Pages: TypeAlias = contextlib.AbstractContextManager[Sequence[Served]]
"""Shows pages while it is open; what it yields has to be served beside the server.

Raises:
    ListenFailed: The address can't be listened on.
"""


def broker_pages(server: Monitored, config: BrokerConfig) -> Pages:
    """The pages of a broker, where its settings say so."""
    everywhere = {"cluster": config.cluster, "node_type": "broker", "node_id": config.name}
    return _pages(server, config.metrics_host, config.metrics_port, everywhere)


def name_server_pages(server: Monitored, config: NameServerConfig) -> Pages:
    """The pages of a name server, where its settings say so."""
    everywhere = {"node_type": "nameserver", "node_id": server.addresses[0]}
    return _pages(server, config.metrics_host, config.metrics_port, everywhere)


@contextlib.contextmanager
def _pages(server: Monitored, host: str, port: int, everywhere: Mapping[str, str]) -> Iterator[Sequence[Served]]:
    if port < 0:
        yield ()
        return
    # Imported when needed: who does not look at metrics does not pay for them.
    from escrowmq.telemetry.exposition import CONTENT_TYPE, render  # noqa: PLC0415
    from escrowmq.telemetry.pages import Page, PageServer  # noqa: PLC0415

    inbox = Inbox()

    def ask(question: Callable[[], Result]) -> Result:
        try:
            return inbox.call(question, timeout_s=TURN_TIME_S)
        except TimeoutError as error:
            raise TimeoutError(f"the thread that serves has not turned for {TURN_TIME_S} s") from error

    def metrics() -> Page:
        return Page(render(ask(server.metrics), everywhere=everywhere), content_type=CONTENT_TYPE)

    def health() -> Page:
        ask(lambda: None)
        return Page.of_text("alive")

    def readiness() -> Page:
        reason = ask(server.unready)
        return Page.of_text("ready") if reason is None else Page.of_text(reason, HTTPStatus.SERVICE_UNAVAILABLE)

    shown = {"/metrics": metrics, "/healthz": health, "/readyz": readiness}
    with contextlib.closing(inbox), PageServer(host, port, shown) as page_server:
        click.echo(f"metrics at http://{page_server.address}/metrics")
        try:
            yield (inbox,)
        finally:
            # Who asks from now on is told at once.
            inbox.end(RuntimeError("the server stops"))
