"""The values of the command line, and what is wrong with them in words."""

import time
from datetime import datetime

import click
import pytest
from tests.commands.terminal import call

from escrowmq.cli.arguments import Time, Where, pairs


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("0", 0),
        ("1763467200123", 1_763_467_200_123),
        ("2025-11-18T12:00:00.123Z", 1_763_467_200_123),
        ("2025-11-18T13:00+01:00", 1_763_467_200_000),
    ],
)
def test_a_time_is_read(text: str, time_ms: int) -> None:
    assert Time().convert(text, None, None) == time_ms
    assert Where().convert(text, None, None) == time_ms


def test_a_time_without_a_zone_is_local() -> None:
    local = datetime(2025, 11, 18, 12, 0).astimezone()
    assert Time().convert("2025-11-18 12:00", None, None) == round(local.timestamp() * 1_000)


@pytest.mark.parametrize(("text", "ago_s"), [("90s", 90), ("10m", 600), ("2h", 7_200), ("3d", 259_200)])
def test_a_time_may_be_so_long_ago(text: str, ago_s: int) -> None:
    before_ms = time.time_ns() // 1_000_000
    found = Time().convert(text, None, None)
    assert 0 <= found - (before_ms - ago_s * 1_000) <= 10_000


@pytest.mark.parametrize("text", ["", "noon", "10x", "-5m", "2025-13-01", "1.5"])
def test_what_is_no_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"is no time: say 2026-11-18T15:00, or 90s"):
        Time().convert(text, None, None)


def test_a_place_has_two_names_of_its_own() -> None:
    assert [Where().convert(text, None, None) for text in ("earliest", "latest")] == ["earliest", "latest"]


def test_pairs_are_read_up_to_the_first_sign() -> None:
    assert pairs(["a=1", "b=x=y", "c="], hint="KEY=VALUE") == {"a": "1", "b": "x=y", "c": ""}
    for text in ("a", "=1"):
        with pytest.raises(click.BadParameter, match="is not KEY=VALUE"):
            pairs([text], hint="KEY=VALUE")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["topic", "list", "--namesrv", "nowhere"], "'nowhere' is not HOST:PORT"),
        (["topic", "list", "--namesrv", "127.0.0.1:99999"], "'127.0.0.1:99999' is not HOST:PORT"),
        (["topic", "list", "--namesrv", ";"], "names no name server"),
        (["topic", "list", "--timeout", "0"], "not in the range"),
        (["topic", "create", "orders", "--queues", "0"], "not in the range"),
        (["group", "reset", "billing", "--topic", "orders", "--to", "noon", "--yes"], "is no time"),
        (["message", "send", "orders"], "say either BODY or --file"),
        (["message", "send", "orders", "x", "--delay", "1", "--delay-level", "1"], "either --delay or --delay-level"),
        (["message", "send", "orders", "x", "--property", "colour"], "is not KEY=VALUE"),
        (["message", "show"], "say either ID, or --topic, --queue and --offset"),
        (["message", "show", "7F", "--offset", "1"], "say either ID, or --topic, --queue and --offset"),
        (["message", "read", "orders", "--follow", "--to", "0"], "--follow has no end"),
        (["message", "read", "orders", "--tag", "a", "--sql", "a = 1"], "either --tag or --sql"),
    ],
)
def test_a_wrong_command_line_is_refused_before_anybody_is_asked(arguments: list[str], words: str) -> None:
    done = call(*arguments)
    assert done.exit_code == 2
    assert words in done.stderr


def test_the_environment_says_where_the_name_server_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", "127.0.0.1:1")
    assert "127.0.0.1:1 can't be reached" in call("topic", "list").stderr
    monkeypatch.setenv("ESCROWMQ_NAMESRV", "127.0.0.1:2")
    assert "127.0.0.1:2 can't be reached" in call("topic", "list").stderr
    assert "127.0.0.1:3 can't be reached" in call("topic", "list", "--namesrv", "127.0.0.1:3").stderr


def test_every_command_explains_itself() -> None:
    for arguments in (["--help"], *([name, "--help"] for name in ("cluster", "topic", "group", "message", "store"))):
        done = call(*arguments)
        assert done.exit_code == 0
        assert "..." not in done.stdout.partition("Commands:")[2], "a line of the list is cut short"
