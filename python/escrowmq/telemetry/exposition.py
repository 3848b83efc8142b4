"""The text that Prometheus reads. Only loaded where somebody wants it: the library takes its time."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from prometheus_client import ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from escrowmq.telemetry.metrics import Kind, Reading

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_FAMILIES: Final[Mapping[Kind, type[CounterMetricFamily | GaugeMetricFamily]]] = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
}


def render(readings: Iterable[Reading], *, everywhere: Mapping[str, str]) -> bytes:
    """The text of readings, all with these labels too, and of what the system knows of the process."""
    return generate_latest(_Collector(readings, everywhere))


class _Collector:
    """What prometheus_client asks for metrics."""

    def __init__(self, readings: Iterable[Reading], everywhere: Mapping[str, str]) -> None:
        self._readings = readings
        self._everywhere = everywhere

    def collect(self) -> Iterator[Metric]:
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        common = tuple(self._everywhere.values())
        for reading in self._readings:
            metric = reading.metric
            family = families.get(metric.name)
            if family is None:
                labels = (*self._everywhere, *metric.labels)
                family = families[metric.name] = _FAMILIES[metric.kind](metric.name, metric.meaning, labels=labels)
            family.add_metric((*common, *reading.labels), reading.value)
        yield from families.values()
        yield from ProcessCollector(registry=None).collect()
