"""The numbers that the store and the fast lane count themselves, as metrics of ours."""

from collections.abc import Iterator
from typing import Final

from escrowmq._core import FastLaneStatistics, Statistics
from escrowmq.telemetry.metrics import CountedMetric, Reading, counted, read_counted

_STORE: Final[tuple[CountedMetric[Statistics], ...]] = (
    counted("messages_appended_total", "counter", "Messages that were appended.", lambda n: n.messages_appended),
    counted("appended_bytes_total", "counter", "Bytes of their records.", lambda n: n.bytes_appended),
    counted("batches_appended_total", "counter", "Batches that they came in.", lambda n: n.batches_appended),
    counted("flushes_total", "counter", "Flushes that succeeded.", lambda n: n.flushes),
    counted("log_size_bytes", "gauge", "Bytes of the log that are kept.", lambda n: n.log_end - n.log_start),
    counted("log_segments", "gauge", "Files of the log.", lambda n: n.segments),
    counted("queues", "gauge", "Consume queues.", lambda n: n.queues),
    counted("files_waiting", "gauge", "Files of expired segments that readers hold.", lambda n: n.files_waiting),
    counted("disk_used_ratio", "gauge", "Share of the disk in use, as last looked at.", lambda n: n.disk_used_ratio),
    counted("store_poisoned", "gauge", "1 after a flush that failed, else 0.", lambda n: n.poisoned_by is not None),
)
_FAST_LANE: Final[tuple[CountedMetric[FastLaneStatistics], ...]] = (
    counted("sends_total", "counter", "Send requests that were stored, a batch counted once.", lambda n: n.sends),
    counted("sends_refused_total", "counter", "Send requests that were refused.", lambda n: n.sends_refused),
    counted("pulls_total", "counter", "Pull requests that were answered.", lambda n: n.pulls),
    counted("pulls_parked", "gauge", "Pull requests that wait for messages.", lambda n: n.pulls_parked),
    counted("cold_reads_total", "counter", "Pull requests that the reader thread answered.", lambda n: n.cold_reads),
    counted("offset_requests_total", "counter", "Requests about offsets that were answered.", lambda n: n.offsets),
    counted("requests_retried_total", "counter", "Requests that Python gave back.", lambda n: n.retries),
)
METRICS: Final = (*(one.metric for one in _STORE), *(one.metric for one in _FAST_LANE))


def readings(store: Statistics, fast_lane: FastLaneStatistics) -> Iterator[Reading]:
    """All of them."""
    yield from read_counted(_STORE, store)
    yield from read_counted(_FAST_LANE, fast_lane)
