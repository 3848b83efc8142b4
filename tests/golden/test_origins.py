"""Every recording says what it holds, which version made it, and how."""

import tomllib
from pathlib import Path

import pytest
from tests.golden.recordings import DATA

RECORDINGS = sorted(path for path in DATA.iterdir() if path.suffix == ".gz")


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name)
def test_a_recording_names_its_origin(recording: Path) -> None:
    origin = tomllib.loads((DATA / f"{recording.name}.toml").read_text(encoding="utf-8"))
    assert "5.5.0" in origin["made_by"]
    assert origin["holds"]
    assert origin["how"]
