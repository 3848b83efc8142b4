"""The numbers that every server counts, as metrics of ours."""

from collections.abc import Iterator
from typing import Final

from escrowmq._core import ServerStatistics
from escrowmq.telemetry.metrics import CountedMetric, Metric, Reading, counted, read_counted

_COUNTED: Final[tuple[CountedMetric[ServerStatistics], ...]] = (
    counted("connections", "gauge", "Connections, in and out.", lambda n: n.connections),
    counted("connections_opened_total", "counter", "Connections that were made.", lambda n: n.connections_opened),
    counted("connections_refused_total", "counter", "Connections that were too many.", lambda n: n.connections_refused),
    counted("frames_received_total", "counter", "Frames that came in.", lambda n: n.frames_received),
    counted("frames_sent_total", "counter", "Frames that went out.", lambda n: n.frames_sent),
    counted("received_bytes_total", "counter", "Bytes that came in.", lambda n: n.bytes_received),
    counted("sent_bytes_total", "counter", "Bytes that went out.", lambda n: n.bytes_sent),
    counted("in_flight_bytes", "gauge", "Bytes that are unanswered or unsent.", lambda n: n.bytes_in_flight),
    counted("requests_waiting", "gauge", "Requests that wait for Python.", lambda n: n.requests_waiting),
    counted("requests_refused_total", "counter", "Requests refused with SYSTEM_BUSY.", lambda n: n.requests_refused),
)
CLOSED: Final = Metric(
    "escrowmq_connections_closed_total", "counter", ("reason",), "Connections that ended, by the reason."
)
METRICS: Final = (*(one.metric for one in _COUNTED), CLOSED)


def readings(server: ServerStatistics) -> Iterator[Reading]:
    """All of them."""
    yield from read_counted(_COUNTED, server)
    yield from (Reading(CLOSED, count, (reason,)) for reason, count in server.connections_closed.items())
