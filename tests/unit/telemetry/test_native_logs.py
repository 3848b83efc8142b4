"""What native threads log arrives in structured logs, at the levels that are wanted."""

import select
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from tests.opening import open_small

from escrowmq import NativeLog
from escrowmq.telemetry import native_logs
from escrowmq.telemetry.native_logs import NativeLogs


def is_readable(logs: NativeLogs) -> bool:
    return bool(select.select([logs], [], [], 0)[0])


def test_an_event_is_passed_on_with_its_level_and_facts(folder: Path) -> None:
    logs = NativeLogs("info")
    logs.step()
    open_small(folder).close()
    assert is_readable(logs)
    with capture_logs() as captured:
        logs.step()
    (opened,) = [log for log in captured if log["event"] == "store opened"]
    assert (opened["log_level"], opened["folder"]) == ("info", str(folder))
    assert not is_readable(logs)


def test_what_is_left_is_passed_on_at_the_end(folder: Path) -> None:
    with capture_logs() as captured, NativeLogs("info"):
        open_small(folder).close()
        assert captured == []
    assert "store opened" in [log["event"] for log in captured]


def test_what_is_less_serious_than_wanted_is_not_kept(folder: Path) -> None:
    logs = NativeLogs("warning")
    logs.step()
    open_small(folder).close()
    assert not is_readable(logs)


class Full:
    """A native log that has kept one record of eight."""

    def __init__(self, _: str) -> None:
        pass

    def take(self) -> tuple[list[tuple[str, str, dict[str, str]]], int]:
        return [("error", "flush failed", {"error": "EIO"})], 7


def test_what_was_not_kept_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_logs, "NativeLog", Full)
    with capture_logs() as captured:
        NativeLogs("info").step()
    assert captured == [
        {"event": "flush failed", "error": "EIO", "log_level": "error"},
        {"event": "native log records dropped", "count": 7, "log_level": "warning"},
    ]


def test_a_level_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match='level "loud", expected error, warning, info or debug'):
        NativeLog("loud")  # type: ignore[arg-type]
