"""Filters of groups: which expression holds, which are dead, and what is kept of them."""

import json

import pytest
from tests.unit.broker.desk import TextInMemory

from escrowmq.broker.consumer_filters import DEAD_MAX_MS, FILTERS_MAX, ConsumerFilters, WrongExpression, compiled
from escrowmq.model.subscription import Subscription

# As an Apache broker wrote it when it was stopped.
APACHES = {
    "filterDataByTopic": {
        "orders": {
            "groupFilterData": {
                "h1": {
                    "bloomFilterData": {"bitNum": 112, "bitPos": [42, 70, 39]},
                    "bornTime": 1795007096701,
                    "clientVersion": 7,
                    "consumerGroup": "h1",
                    "dead": True,
                    "deadTime": 1795007109771,
                    "expression": "a > 3",
                    "expressionType": "SQL92",
                    "topic": "orders",
                }
            },
            "topic": "orders",
        }
    }
}


class Clock:
    """Stands still unless it is moved."""

    now_ms = 1_795_007_200_000

    def __call__(self) -> int:
        return self.now_ms


def wants(expression: str, version: int = 1, topic: str = "orders", kind: str = "SQL92") -> Subscription:
    return Subscription(topic=topic, expression=expression, version=version, expression_type=kind)


def made(file: TextInMemory | None = None) -> ConsumerFilters:
    return ConsumerFilters(file or TextInMemory(), now_ms=Clock())


def held(filters: ConsumerFilters, topic: str = "orders") -> tuple[str, int, bool] | None:
    """The expression that holds, its version, and whether it is dead."""
    known = filters.find("billing", topic)
    return None if known is None else (known.filter.expression, known.version, known.kept.is_dead)


def test_the_newest_expression_of_a_group_holds() -> None:
    filters = made()
    filters.register("billing", [wants("a > 3", 7)])
    filters.register("billing", [wants("a > 5", 6)])
    assert held(filters) == ("a > 3", 7, False)
    filters.register("billing", [wants("a > 5", 7)])
    assert held(filters) == ("a > 3", 7, False)
    filters.register("billing", [wants("a > 3", 8)])
    assert held(filters) == ("a > 3", 8, False)
    filters.register("billing", [wants("a > 5", 9)])
    assert held(filters) == ("a > 5", 9, False)


def test_a_newer_expression_that_is_none_takes_the_old_one_along() -> None:
    filters = made()
    filters.register("billing", [wants("a >", 7)])
    assert held(filters) is None
    filters.register("billing", [wants("a > 3", 7)])
    filters.register("billing", [wants("a >", 7)])
    assert held(filters) == ("a > 3", 7, False)
    filters.register("billing", [wants("a >", 8)])
    assert held(filters) is None
    filters.register("billing", [wants("a > 3", 9, kind="sql92")])
    assert held(filters) is None


def test_what_a_group_does_not_want_any_more_is_dead_until_it_does() -> None:
    filters = made()
    filters.register("billing", [wants("a > 3", 7), wants("b > 3", 7, "payments")])
    filters.register("billing", [wants("a > 3", 7)])
    assert (held(filters), held(filters, "payments")) == (("a > 3", 7, False), ("b > 3", 7, True))
    filters.register("billing", [wants("a > 3", 7), wants("b > 3", 7, "payments")])
    assert held(filters, "payments") == ("b > 3", 7, False)
    filters.unregister("billing")
    assert (held(filters), held(filters, "payments")) == (("a > 3", 7, True), ("b > 3", 7, True))
    filters.register("billing", [wants("*", 8, kind="TAG"), wants("", 8, "payments")])
    assert held(filters) == ("a > 3", 7, True), "tags are no filter"
    filters.register("billing", [wants("a > 3", 9)])
    assert held(filters) == ("a > 3", 9, False)


def test_only_what_has_changed_is_told_and_written() -> None:
    file = TextInMemory()
    filters = made(file)
    assert not filters.save()
    filters.register("billing", [wants("a > 3", 7)])
    version = filters.version
    filters.register("billing", [wants("a > 3", 7)])
    assert filters.version == version
    assert filters.save()
    assert not filters.save()
    assert file.saves == 1
    kept = file.value["filterDataByTopic"]["orders"]
    assert kept["topic"] == "orders"
    assert kept["groupFilterData"]["billing"] == {
        "bloomFilterData": {"bitNum": 112, "bitPos": [31, 20, 9]},
        "bornTime": Clock.now_ms,
        "clientVersion": 7,
        "consumerGroup": "billing",
        "dead": False,
        "deadTime": 0,
        "expression": "a > 3",
        "expressionType": "SQL92",
        "topic": "orders",
    }


def test_what_apache_left_is_gone_on_with_and_written_as_it_was() -> None:
    file = TextInMemory(json.dumps(APACHES))
    filters = made(file)
    known = filters.find("h1", "orders")
    assert known is not None
    assert (known.version, known.kept.is_dead, known.filter.matches({"a": "4"})) == (7, True, True)
    filters.register("h2", [wants("b > 3")])
    filters.save()
    written = file.value["filterDataByTopic"]["orders"]["groupFilterData"]
    assert written["h1"] == APACHES["filterDataByTopic"]["orders"]["groupFilterData"]["h1"]  # type: ignore[index]
    filters.register("h1", [wants("a > 3", 7)])
    assert not filters.find("h1", "orders").kept.is_dead  # type: ignore[union-attr]


def test_consumers_of_before_the_start_are_gone() -> None:
    """And an expression that this broker can't read is left out, not all."""
    file = TextInMemory()
    before = made(file)
    before.register("billing", [wants("a > 3"), wants("b > 3", topic="payments")])
    before.save()
    file.text = (file.text or "").replace("b > 3", "b >")
    after = made(file)
    assert (held(after), held(after, "payments")) == (("a > 3", 1, True), None)


def test_who_is_dead_for_a_day_is_forgotten() -> None:
    file, clock = TextInMemory(), Clock()
    filters = ConsumerFilters(file, now_ms=clock)
    filters.register("billing", [wants("a > 3")])
    filters.register("audit", [wants("a > 3")])
    filters.unregister("billing")
    clock.now_ms += DEAD_MAX_MS - 1
    filters.save()
    assert held(filters) is not None
    clock.now_ms += 1
    assert filters.save()
    assert list(file.value["filterDataByTopic"]["orders"]["groupFilterData"]) == ["audit"]
    filters.unregister("audit")
    clock.now_ms += DEAD_MAX_MS
    filters.save()
    assert file.value == {"filterDataByTopic": {}}


def test_there_are_no_more_than_may_be() -> None:
    filters = made()
    filters.register("billing", [wants("a > 3", topic=f"topic-{number}") for number in range(FILTERS_MAX + 1)])
    assert filters.find("billing", f"topic-{FILTERS_MAX - 1}") is not None
    assert filters.find("billing", f"topic-{FILTERS_MAX}") is None


def test_what_is_wrong_with_an_expression_is_said_with_its_place() -> None:
    with pytest.raises(WrongExpression, match=r"^the filter expression is wrong at line 2, column 4: expected"):
        compiled("SQL92", "a = 1 AND\nb >")
    with pytest.raises(WrongExpression, match="type 'FOO' are unknown, expected TAG or SQL92"):
        compiled("FOO", "a = 1")
