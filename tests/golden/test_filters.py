"""Filter expressions mean to us what they mean to Apache RocketMQ: each of the recorded ones, on each message."""

from typing import Any

import pytest
from tests.golden.recordings import filters

from escrowmq import PropertyFilter
from escrowmq.errors import BadFilter


@pytest.fixture(scope="module")
def recorded() -> list[dict[str, Any]]:
    return filters()


def compiled(expression: str) -> PropertyFilter | None:
    """A filter; None where the expression is refused."""
    try:
        return PropertyFilter(expression)
    except BadFilter:
        return None


def test_what_is_refused_there_is_refused_here_and_nothing_else(recorded: list[dict[str, Any]]) -> None:
    refused = {row["expression"] for row in recorded if row["results"] is None}
    assert len(refused) > 1_000
    assert {row["expression"] for row in recorded if compiled(row["expression"]) is None} == refused


def test_every_message_is_wanted_or_not_as_it_is_there(recorded: list[dict[str, Any]]) -> None:
    for row in recorded:
        if row["results"] is not None:
            wanted = [result == "TRUE" for result in row["results"]]
            matches = PropertyFilter(row["expression"]).matches
            assert [matches(message) for message in row["messages"]] == wanted, row["expression"]


def test_what_was_understood_means_the_same(recorded: list[dict[str, Any]]) -> None:
    for row in recorded:
        if row["results"] is not None:
            understood = PropertyFilter(row["expression"]).understood
            again = PropertyFilter(understood)
            assert again.understood == understood
            assert [again.matches(message) for message in row["messages"]] == [
                result == "TRUE" for result in row["results"]
            ], row["expression"]
