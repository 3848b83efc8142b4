"""docs/metrics.md lists what monitors see: every metric, as the code has it."""

import re
from pathlib import Path

from escrowmq.broker import metrics as broker_metrics
from escrowmq.namesrv import metrics as name_server_metrics
from escrowmq.telemetry.metrics import Metric

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def listed() -> list[Metric]:
    rows = re.findall(
        r"^\| `(\w+)` \| (\w+) \| (.*?) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    return [Metric(name, kind, tuple(re.findall(r"`(\w+)`", labels)), meaning) for name, kind, labels, meaning in rows]


def test_the_page_lists_every_metric_as_it_is() -> None:
    measured = {*broker_metrics.METRICS, *name_server_metrics.METRICS}
    assert len({metric.name for metric in measured}) == len(measured)
    assert sorted(listed(), key=lambda metric: metric.name) == sorted(measured, key=lambda metric: metric.name)


def test_names_say_what_is_counted() -> None:
    for metric in listed():
        assert metric.name.startswith(("rocketmq_", "escrowmq_"))
        assert metric.name.endswith("_total") == (metric.kind == "counter")
