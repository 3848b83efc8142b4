"""What every test may use."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.opening import open_small

from escrowmq import Store

pytest_plugins = ["pytester"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a test's store goes; not there yet."""
    return tmp_path / "store"


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    """A small store, closed after the test."""
    with open_small(folder) as opened:
        yield opened
