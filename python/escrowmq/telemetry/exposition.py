"""The text that Prometheus reads. Only loaded where somebody wants it: the library takes its time."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final, TypeAlias

from prometheus_client import ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.utils import floatToGoString

from escrowmq.telemetry.metrics import Distribution, Kind, Reading

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Family: TypeAlias = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily

_FAMILIES: Final[Mapping[Kind, type[Family]]] = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
    "histogram": HistogramMetricFamily,
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
        families: dict[str, Family] = {}
        common = tuple(self._everywhere.values())
        for reading in self._readings:
            metric = reading.metric
            family = families.get(metric.name)
            if family is None:
                labels = (*self._everywhere, *metric.labels)
                family = families[metric.name] = _FAMILIES[metric.kind](metric.name, metric.meaning, labels=labels)
            _add(family, (*common, *reading.labels), reading.value)
        yield from families.values()
        yield from ProcessCollector(registry=None).collect()


def _add(family: Family, labels: tuple[str, ...], value: float | Distribution) -> None:
    if isinstance(family, HistogramMetricFamily) and isinstance(value, Distribution):
        # Prometheus wants to know how many there are up to each bound, from the smallest on.
        bounds = [*map(floatToGoString, value.bounds), "+Inf"]
        buckets = list(zip(bounds, map(float, accumulate(value.counts)), strict=True))
        family.add_metric(labels, buckets, value.total)
    elif not isinstance(family, HistogramMetricFamily) and not isinstance(value, Distribution):
        family.add_metric(labels, value)
    else:
        raise TypeError(f"{family.name} has a value that is not of its kind: {value}")
