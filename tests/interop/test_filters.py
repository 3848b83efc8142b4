"""Filters by properties beside Apache's: expressions mean the same, and consumerFilter.json moves both ways."""

import json
import time
from pathlib import Path

import pytest
from tests.interop.apache import Apache
from tests.interop.filter_cases import by_chance
from tests.interop.installation import Installation
from tests.interop.java_process import run_program
from tests.interop.ours import open_store

from escrowmq import ConfigFile, PropertyFilter
from escrowmq.broker.consumer_filters import ConsumerFilters
from escrowmq.errors import BadFilter
from escrowmq.model.subscription import Subscription

EXPRESSIONS = 20_000
EVALUATE_DEADLINE_S = 240


@pytest.mark.parametrize("seed", [11, 12])
@pytest.mark.timeout(EVALUATE_DEADLINE_S + 60)
def test_expressions_by_chance_mean_what_they_mean_to_apache(
    seed: int, installation: Installation, tmp_path: Path
) -> None:
    """Other expressions than the recorded ones; whatever differs is printed with its seed."""
    path = tmp_path / "cases"
    path.write_text("".join(f"{json.dumps(case)}\n" for case in by_chance(seed, EXPRESSIONS)), encoding="utf-8")
    rows = run_program(
        installation, "Evaluate", [str(path)], home=tmp_path, deadline_s=EVALUATE_DEADLINE_S, heap="512m"
    )
    assert len(rows) == EXPRESSIONS
    different = [
        (seed, row["expression"], ours, row["results"])
        for row in rows
        if (ours := results(row["expression"], row["messages"]))
        != (None if row["results"] is None else [result == "TRUE" for result in row["results"]])
    ]
    assert different == []


def results(expression: str, messages: list[dict[str, str]]) -> list[bool] | None:
    """What our filter makes of messages; None where it refuses the expression."""
    try:
        matches = PropertyFilter(expression).matches
    except BadFilter:
        return None
    return [matches(message) for message in messages]


@pytest.mark.timeout(300)
def test_filters_outlive_a_move_to_apache_and_back(installation: Installation, tmp_path: Path) -> None:
    """Apache drops all filters of a file if one is not as it would have written it."""
    store = tmp_path / "store"
    open_store(store).close()
    ours = filters_in(store)
    for group, expression in (("rich", "amount >= 300"), ("poor", "amount < 300 AND note = 'it''s'")):
        ours.register(group, [Subscription(topic="orders", expression=expression, version=7, expression_type="SQL92")])
    ours.save()
    with Apache(installation, store, scratch=tmp_path, options={"enablePropertyFilter": "true"}) as apache:
        apache.stop()
    written = json.loads((store / "config" / "consumerFilter.json").read_text(encoding="utf-8"))
    theirs = written["filterDataByTopic"]["orders"]["groupFilterData"]
    # Apache takes consumers of before its start for gone, so this is what it read, and not what was left of ours.
    assert {group: (kept["expression"], kept["dead"]) for group, kept in theirs.items()} == {
        "rich": ("amount >= 300", True),
        "poor": ("amount < 300 AND note = 'it''s'", True),
    }
    back = filters_in(store).find("poor", "orders")
    assert back is not None
    assert (back.version, back.kept.bloom) == (7, ours.find("poor", "orders").kept.bloom)  # type: ignore[union-attr]


def filters_in(store: Path) -> ConsumerFilters:
    return ConsumerFilters(ConfigFile(store, "consumerFilter.json"), now_ms=lambda: time.time_ns() // 1_000_000)
