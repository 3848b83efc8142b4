"""What a monitor reads of a name server. docs/metrics.md lists it."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from escrowmq import _core
from escrowmq.namesrv.context import Context
from escrowmq.telemetry import server_metrics
from escrowmq.telemetry.metrics import CountedMetric, Reading, counted, read_counted


class Overview(Struct, frozen=True, kw_only=True):
    """What the tables say."""

    brokers: int
    clusters: int
    topics: int


_COUNTED: Final[tuple[CountedMetric[Overview], ...]] = (
    counted("registered_brokers", "gauge", "Brokers that are alive.", lambda found: found.brokers),
    counted("registered_clusters", "gauge", "Clusters that they belong to.", lambda found: found.clusters),
    counted("registered_topics", "gauge", "Topics that they have.", lambda found: found.topics),
)
METRICS: Final = (*(one.metric for one in _COUNTED), *server_metrics.METRICS)


def overview(context: Context) -> Overview:
    """Reads the tables, on the name server's thread."""
    routes = context.routes
    return Overview(brokers=len(routes.live), clusters=len(routes.clusters), topics=len(routes.topics))


def readings(found: Overview, server: _core.Server) -> Iterator[Reading]:
    """Everything that is measured, on the thread of whoever asks.

    Raises:
        ServerClosed: The name server has stopped meanwhile.
    """
    yield from read_counted(_COUNTED, found)
    yield from server_metrics.readings(server.statistics())
