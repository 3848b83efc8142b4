"""A room for every test that wants one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.transaction.room_desk import RoomDesk


@pytest.fixture
def room(tmp_path: Path) -> Iterator[RoomDesk]:
    desk = RoomDesk(tmp_path)
    yield desk
    desk.close()
